"""Who acts: scaffolds over backends, and the model that ships with the kit."""
