/** Compares recorded embeddings: the vectors, their number, and the prompt tokens. */
import { type Difference, abridgeValue } from "./differences.ts";
import type { Exchange } from "./corpus.ts";
import { type JsonRecord, jsonRecord, jsonRecords, textOrEmpty } from "./readers/json.ts";

/** Texts or token ids in a request for embeddings, of any provider's format. */
export function inputOf(body: JsonRecord): unknown {
  const joined = (content: unknown) =>
    jsonRecords(jsonRecord(content)["parts"])
      .map(({ text }) => textOrEmpty(text))
      .join("");
  const { input, texts, inputText, requests, content, instances, inputs } = body;
  if (requests) return jsonRecords(requests).map((request) => joined(request["content"]));
  if (content) return joined(content);
  if (instances) return jsonRecords(instances).map((instance) => instance["content"]);
  if (inputs) return jsonRecords(inputs).map((each) => jsonRecords(each["content"])[0]?.["text"]);
  return input ?? texts ?? inputText;
}

/** Vectors in an answer of any provider's format. @param vendor Perplexity writes signed bytes, all others single precision */
function vectorsOf({ data, embeddings, embedding }: JsonRecord, vendor = ""): number[][] {
  const listed = data ?? jsonRecord(embeddings)["float"] ?? embeddings ?? [embedding];
  return (Array.isArray(listed) ? listed : []).map((entry: unknown): number[] => {
    const vector = Array.isArray(entry) ? entry : (jsonRecord(entry)["embedding"] ?? jsonRecord(entry)["values"]);
    if (Array.isArray(vector)) return vector as number[];
    const bytes = Buffer.from(textOrEmpty(vector), "base64");
    if (vendor === "perplexity") return Array.from(new Int8Array(bytes));
    return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(index * 4));
  });
}

function tokensOf({ usage, meta, inputTextTokenCount: counted }: JsonRecord): unknown {
  const { prompt_tokens: prompt, total_tokens: total } = jsonRecord(usage);
  return prompt ?? total ?? jsonRecord(jsonRecord(meta)["billed_units"])["input_tokens"] ?? counted;
}

export function embeddingDifferences(
  { status: wantStatus, vendor }: Exchange,
  want: JsonRecord,
  status: number,
  got: JsonRecord,
): Difference[] {
  if (status !== wantStatus)
    return [{ what: "status", want: String(wantStatus), got: abridgeValue({ status, ...jsonRecord(got["error"]) }) }];
  if (wantStatus >= 400) return [];
  const [wanted, given] = [vectorsOf(want, vendor), vectorsOf(got)];
  // Whether two numbers are equal in single precision, which base64 vectors have.
  const isNear = (one: number, other: number | undefined) => other !== undefined && Math.abs(one - other) < 1e-6;
  const same = (one: number[], other: number[] = []) =>
    one.length === other.length && one.every((number, at) => isNear(number, other[at]));
  const isSame = wanted.length === given.length && wanted.every((vector, at) => same(vector, given[at]));
  const [tokens, told] = [tokensOf(want), tokensOf(got)];
  return [
    ...(isSame ? [] : [{ what: "vectors", want: abridgeValue(wanted), got: abridgeValue(given) }]),
    ...(tokens === undefined || tokens === told
      ? []
      : [{ what: "tokens.prompt", want: abridgeValue(tokens), got: abridgeValue(told) }]),
  ];
}
