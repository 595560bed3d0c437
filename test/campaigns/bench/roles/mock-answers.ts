/** Answers of the mock upstream in the format of chat completions, serialised once: the mock must cost less than the measured programs. */

const crlf = "\r\n";

const jsonAnswer = JSON.stringify({
  id: "chatcmpl-8f14e45fceea167a5a36dedd4bea2543",
  object: "chat.completion",
  created: 1_760_000_000,
  model: "bench",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content:
          "A gateway stands between applications and the providers of models. It checks who is asking, decides which provider " +
          "serves the request, translates between formats and passes the answer on while it is being written. What it must " +
          "not do is to stand in the way: every millisecond and every processor cycle that it takes is paid by each request.",
        refusal: null,
      },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 212, completion_tokens: 68, total_tokens: 280 },
});

export const wholeAnswer = Buffer.from(
  `HTTP/1.1 200 OK${crlf}content-type: application/json${crlf}content-length: ${Buffer.byteLength(jsonAnswer)}${crlf}${crlf}${jsonAnswer}`,
);

/** The answer of a failing provider; the connection stays open. */
export const serverErrorAnswer = Buffer.from(
  `HTTP/1.1 500 Internal Server Error${crlf}content-length: 0${crlf}${crlf}`,
);

export const refusalAnswer = (status: string): Buffer =>
  Buffer.from(`HTTP/1.1 ${status}${crlf}content-length: 0${crlf}connection: close${crlf}${crlf}`);

/** A chunk for each event, as servers send it that flush after each event. */
function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}${crlf}${text}${crlf}`);
}

const event = (fields: object): Buffer =>
  chunk(
    `data: ${JSON.stringify({
      id: "chatcmpl-8f14e45fceea167a5a36dedd4bea2543",
      object: "chat.completion.chunk",
      created: 1_760_000_000,
      model: "bench",
      system_fingerprint: "fp_44709d6fcb",
      ...fields,
    })}\n\n`,
  );

const choice = (delta: object, finishReason: string | null): Buffer =>
  event({ choices: [{ index: 0, delta: delta, logprobs: null, finish_reason: finishReason }] });

/** Status line, headers and the event with the role. */
export const mockStreamHead = Buffer.concat([
  Buffer.from(
    `HTTP/1.1 200 OK${crlf}content-type: text/event-stream${crlf}cache-control: no-cache${crlf}transfer-encoding: chunked${crlf}${crlf}`,
  ),
  choice({ role: "assistant", content: "" }, null),
]);

export const mockDelta = choice({ content: " another" }, null);

export const streamTail = Buffer.concat([
  choice({}, "stop"),
  event({ choices: [], usage: { prompt_tokens: 212, completion_tokens: 200, total_tokens: 412 } }),
  chunk("data: [DONE]\n\n"),
  Buffer.from(`0${crlf}${crlf}`),
]);

/** Part of an endless answer, about 64 KiB for large writes. */
export const floodPart = Buffer.concat(Array.from({ length: 256 }, () => mockDelta));

const bursts = new Map<number, Buffer>();

export function deltaBurst(deltas: number): Buffer {
  const known = bursts.get(deltas);
  if (known) return known;
  const made = Buffer.concat([mockStreamHead, ...Array.from({ length: deltas }, () => mockDelta), streamTail]);
  bursts.set(deltas, made);
  return made;
}
