"""Model files of the Hugging Face Hub, by the library made for it, which keeps them in its cache."""

from __future__ import annotations

import re
from pathlib import Path

from agents.agent import AgentSpecError

PLACE = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?:(?P<file>[^:]+)")


def cached_file(place: str) -> Path:
    """Return the file of `REPO[@REVISION]:FILE`; downloaded if the cache has it not.

    HF_ENDPOINT, HF_HOME, HF_TOKEN and HF_HUB_OFFLINE are the library's own settings.

    Raises:
        AgentSpecError: the place is none, the library is not installed, or the file cannot be had.
    """
    found = PLACE.fullmatch(place)
    if found is None:
        raise AgentSpecError(f"agent 'hf:{place}': write hf:OWNER/NAME:FILE.gguf, as on the Hugging Face Hub")
    try:
        from huggingface_hub import hf_hub_download, try_to_load_from_cache
        from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
    except ImportError as error:
        raise AgentSpecError(f"hf: needs huggingface-hub ({error}): pip install 'pathrig[hf]'") from None
    repo, revision, file = found["repo"], found["revision"], found["file"]
    cached = try_to_load_from_cache(repo, file, revision=revision)
    if isinstance(cached, str):
        return Path(cached)
    try:
        return Path(hf_hub_download(repo, file, revision=revision))
    except LocalEntryNotFoundError:
        reason = "there is no network, and it is not in the cache"
    except HfHubHTTPError as error:
        reason = " ".join(str(error).split())
    except (OSError, ValueError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
    raise AgentSpecError(
        f"hf:{place}: cannot be downloaded: {reason[:300]}; give a file with llama:FILE.gguf"
    )
