/** Kinds of work in a Node process, by the running function. A profile of single functions is too flat to show them. */
import type { PerfFrame } from "./perf.ts";

/**
 * Kinds by the symbol of a function; the first match decides. Names are those of V8 11 to 13: `JS:*` is optimised code, `Builtins_` a part of the
 * program.
 */
const kinds: readonly (readonly [kind: string, symbol: RegExp])[] = [
  ["WebAssembly", /^JS:wasm/],
  ["optimised JavaScript", /^JS:[*+]/],
  ["baseline code", /^JS:\^/],
  ["interpreter", /^JS:~|^Builtins_(Interpreter|.*Handler$)/],
  ["regular expressions", /^RegExp:|RegExp/],
  ["inline-cache builtins", /^Builtins_\w*(LoadIC|StoreIC|LoadGlobalIC|CloneObjectIC|HasIC|InLiteralIC|Megamorphic)/],
  ["promises, generators, microtasks", /^Builtins_\w*(Promise|Await|Async|Generator|Microtask)/],
  ["JSON", /^Builtins_Json|v8::internal::Json(Parser|Stringif)/],
  ["other builtins", /^Builtins_/],
  [
    "garbage collection",
    /v8::internal::(\w+::)*\w*(Scaveng|Mark(ing|Compact|er)|Sweep|Heap::|GCTracer|Evacuat|IteratePointers|RootVisitor|Worklist|SlotSet|NewSpace|PagedSpace|MemoryChunk|MainAllocator|LocalAllocationBuffer)|SizeFromMap|cppgc::/,
  ],
  [
    "compiling",
    /v8::internal::(\(anonymous namespace\)::)?(compiler|maglev|baseline|turboshaft|interpreter|wasm)::|v8::internal::\w*(Compil|Parser|Scanner|Bytecode|Zone|Ast|Assembler|Deoptimiz|Feedback)/,
  ],
  ["V8 runtime in C++", /v8::/],
  ["malloc and free", /malloc|calloc|c?free(@|$)|_int_free|unlink_chunk|^operator (new|delete)/],
  ["Node in C++", /node::|^_?uv_|nghttp2|llhttp|crypto|^(EVP|SHA|OPENSSL)/i],
];

export function kindOf({ symbol, file }: PerfFrame): string {
  if (file.startsWith("[kernel") || file.startsWith("[vdso")) return "kernel";
  for (const [kind, pattern] of kinds) if (pattern.test(symbol)) return kind;
  if (/\/lib(c|m|pthread|stdc\+\+|gcc_s)[-.]/.test(file)) return "C library";
  return "other";
}
