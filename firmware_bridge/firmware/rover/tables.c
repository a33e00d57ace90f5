/* The one place where the tables of tables.h are defined. */
#define DEFINE_TABLES
#include "tables.h"
