"""Write a checkpoint as GGUF: `python -m training.export --run DIR --out FILE.gguf`, where no file is yet.

The tensors' names and the metadata are those of llama.cpp's architecture `qwen3`; matrices are Q8_0 (rows are
multiples of 32), norms stay F32, the chat template is embedded.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import gguf
import numpy as np
from tokenizers import Tokenizer

from agents.formats.chatml import DECLINING_TEMPLATE
from training.chat_format import CONTROL_TOKENS, MARK_TOKENS
from training.checkpoints import LATEST, restore
from training.network import Network
from training.tokenizer import load

BLOCK_TENSORS = {
    "attn_norm": "attn_norm",
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "q_norm": "attn_q_norm",
    "k_norm": "attn_k_norm",
    "ffn_norm": "ffn_norm",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}


def main() -> None:
    """Parse the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="the folder that train.py wrote")
    parser.add_argument("--checkpoint", default=LATEST, help="the file in it")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--f32", action="store_true", help="leave the matrices unquantised")
    args = parser.parse_args()
    if args.out.exists():
        sys.exit(f"error: {args.out} exists; name another file")
    tokenizer = load(args.run / "tokenizer.json")
    export(restore(args.run / args.checkpoint), tokenizer, args.out, quantise=not args.f32)
    print(args.out)


def export(network: Network, tokenizer: Tokenizer, path: Path, *, quantise: bool = True) -> None:
    """Write the network and its tokenizer as one GGUF file."""
    shape = network.shape
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_name(path.stem)
    writer.add_description("A small model of pathrig, trained on made-up transcripts of its own worlds")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head)
    writer.add_value_length(shape.head)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if quantise else gguf.LlamaFileType.ALL_F32)
    _add_tokenizer(writer, tokenizer)
    for name, tensor in network.state_dict().items():
        _add_tensor(writer, _gguf_name(name), tensor.float().numpy(), quantise)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Tokenizer) -> None:
    model = json.loads(tokenizer.to_str())["model"]
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    tokens = [tokenizer.id_to_token(number) for number in range(size)]
    kinds = [gguf.TokenType.NORMAL] * size
    for text in CONTROL_TOKENS:
        kinds[tokens.index(text)] = gguf.TokenType.CONTROL
    for text in MARK_TOKENS:
        kinds[tokens.index(text)] = gguf.TokenType.USER_DEFINED
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(merge) for merge in model["merges"]])
    writer.add_bos_token_id(tokenizer.token_to_id("<|endoftext|>"))
    writer.add_eos_token_id(tokenizer.token_to_id("<|im_end|>"))
    writer.add_pad_token_id(tokenizer.token_to_id("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(DECLINING_TEMPLATE)


def _gguf_name(name: str) -> str:
    fixed = {"embedding.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}
    if name in fixed:
        return fixed[name]
    _, number, part, kind = name.split(".")
    return f"blk.{number}.{BLOCK_TENSORS[part]}.{kind}"


def _add_tensor(writer: gguf.GGUFWriter, name: str, values: np.ndarray, quantise: bool) -> None:
    if quantise and values.ndim == 2:
        kind = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    else:
        writer.add_tensor(name, values)


if __name__ == "__main__":
    main()
