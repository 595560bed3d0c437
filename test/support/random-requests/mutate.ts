/** Breaks bodies: values of wrong types, beyond limits, too deep or of unknown kinds; texts that are cut, doubled or in invalid UTF-8. */
import { setOwn } from "./generate.ts";
import type { JsonObject } from "./json.ts";
import type { Random } from "../random.ts";
import { unusualKeys, boundaryLengths, unusualNumbers, unusualTexts } from "./words.ts";

interface Place {
  readonly holder: JsonObject | unknown[];
  readonly key: string | number;
}

function placesIn(value: unknown, places: Place[] = []): Place[] {
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      places.push({ holder: value, key: index });
      placesIn(value[index], places);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [key, entry] of Object.entries(value)) {
      places.push({ holder: value as JsonObject, key });
      placesIn(entry, places);
    }
  }
  return places;
}

const nested = (levels: number, kind: "array" | "object"): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = kind === "array" ? [value] : { a: value };
  return value;
};

/** Changes one value at a random place. */
export function mutateValue(body: JsonObject, random: Random): void {
  const places = placesIn(body);
  if (places.length === 0) return;
  const { holder, key } = random.pick(places);
  const target = holder as JsonObject;
  const put = (value: unknown) =>
    Array.isArray(holder) ? (holder[key as number] = value) : setOwn(target, String(key), value);
  const mutations: readonly (() => unknown)[] = [
    () => put(random.pick([null, true, false, [], {}, [[]], 0, "", -1])),
    () => put(random.pick(unusualNumbers)),
    () => put(random.pick(unusualTexts)),
    () => put("a".repeat(random.pick(boundaryLengths) + random.below(2))),
    () => put("\u{1F600}".repeat(random.pick(boundaryLengths))),
    () => (Array.isArray(holder) ? holder.splice(key as number, 1) : delete target[key]),
    () =>
      Array.isArray(holder)
        ? holder.push(structuredClone(holder[key as number]))
        : setOwn(target, random.pick(unusualKeys), 1),
    () => put(nested(random.pick([3, 60, 61, 62, 63, 64, 65, 70]), random.pick(["array", "object"]))),
    () => put(Array.from({ length: random.pick([2, 17, 33, 129, 501]) }, () => structuredClone(target[key]))),
    () =>
      typeof target[key] === "object"
        ? put(Object.fromEntries(unusualTexts.slice(0, random.below(20)).map((text, n) => [`${text}${n}`, "v"])))
        : put({}),
    () =>
      put(
        random.pick(["unknown_kind", "service:unknown", "message", "function", "function_call_output", "input_image"]),
      ),
  ];
  random.pick(mutations)();
}

/** Bytes that may be invalid JSON, or the same JSON in another spelling. */
export function mutateText(text: string, random: Random): Buffer {
  const at = random.below(text.length + 1);
  const mutations: readonly (() => string | Buffer)[] = [
    () => text.slice(0, at),
    () => Buffer.from(text).subarray(0, random.below(Buffer.byteLength(text) + 1)),
    () => text.slice(at),
    () =>
      `${text.slice(0, at)}${random.pick(["{", "}", "[", "]", ",", ":", '"', "\\", " ", "\n", "\0", "1", "e"])}${text.slice(at)}`,
    () =>
      Buffer.concat([Buffer.from(text.slice(0, at)), Buffer.from([random.below(256)]), Buffer.from(text.slice(at))]),
    () => `${text}${random.pick([" ", "\n", "x", "{}", "\0"])}`,
    () => `\u{FEFF}${text}`,
    () => text.replace("{", '{"model":"acme/large",'),
    () => text.replace('"model"', String.raw`"mod\u0065l"`),
    () =>
      text.replace(
        /:(-?\d+)([,}\]])/,
        random.pick([":$1.0$2", ":$1e0$2", ":$1E+0$2", ":1e400$2", ":-0$2", ":0$1$2", ":+1$2"]),
      ),
    () =>
      text.replace(
        /:"([^"\\]*)"/,
        random.pick([String.raw`:"\ud800"`, String.raw`:"\ud83d\ude00"`, String.raw`:"\x"`, ":'a'"]),
      ),
    () => text.replaceAll(/([{[,:])/g, "$1 \n\t"),
    () => random.pick(["", "null", "[]", '"text"', "1", "{}", "{", "nul"]),
  ];
  const mutated = random.pick(mutations)();
  return Buffer.isBuffer(mutated) ? mutated : Buffer.from(mutated);
}
