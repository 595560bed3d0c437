/** Detection services outside of Sluice, over real sockets, which find the words that the test configures. */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { type IncomingHttpHeaders, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { codePointLength } from "@sluice/proto/lib/validation/text.js";

export interface DetectorService {
  /** http://127.0.0.1:port */
  readonly url: string;
  /** Texts received for detection. */
  readonly texts: string[];
  /** Bodies as received, with their paths. */
  readonly requests: { readonly path: string; readonly json: Readonly<Record<string, unknown>> }[];
  stop(): Promise<void>;
}

/** Starts a service with the protocol of Presidio's analyzer. @param entities its findings: entity by text */
export const startRecognizer = (entities: Readonly<Record<string, string>>, score = 0.85): Promise<DetectorService> =>
  start(({ text }) => {
    const found = Object.entries(entities).flatMap(([said, type]) =>
      placesOf(String(text), said).map((start) => ({
        entity_type: type,
        start,
        end: start + codePointLength(said),
        score,
        analysis_explanation: null,
      })),
    );
    return [String(text), found];
  });

/** Starts a service like text-embeddings-inference. @param score gives the score of the label INJECTION for a text */
export const startClassifier = (score: (text: string) => number): Promise<DetectorService> =>
  start(({ inputs }) => {
    const injection = score(String(inputs));
    const labels = [
      { label: "INJECTION", score: injection },
      { label: "SAFE", score: 1 - injection },
    ];
    return [String(inputs), labels.toSorted((a, b) => b.score - a.score)];
  });

/** Starts a webhook that finds the same words as the recognizer. It answers 401 to a wrong signature.  @param entities its findings: label by text */
export const startWebhook = (
  secret: string,
  entities: Readonly<Record<string, string>>,
  score?: number,
): Promise<DetectorService> =>
  start((json, body, headers) => {
    if (!isSignedBy(secret, body, headers)) throw new Error("wrong signature");
    const text = String((json["data"] as { text?: unknown }).text);
    const findings = Object.entries(entities).flatMap(([said, label]) =>
      placesOf(text, said).map((place) => ({
        label,
        start: place,
        end: place + codePointLength(said),
        ...(score !== undefined && { score }),
      })),
    );
    return [text, { findings }];
  });

/** Checks a signature by the specification of Standard Webhooks, with code that the product does not use. */
export function isSignedBy(secret: string, body: string, headers: IncomingHttpHeaders): boolean {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > 300) return false;
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const expected = createHmac("sha256", key).update([id, timestamp, body].join(".")).digest("base64");
  return String(signatures).split(" ").includes(`v1,${expected}`);
}

/** Positions of a text, in code points as in Python. */
function placesOf(text: string, said: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(said); at !== -1; at = text.indexOf(said, at + 1)) {
    places.push(codePointLength(text.slice(0, at)));
  }
  return places;
}

async function start(
  answer: (
    json: Readonly<Record<string, unknown>>,
    body: string,
    headers: IncomingHttpHeaders,
  ) => readonly [text: string, answer: unknown],
): Promise<DetectorService> {
  const texts: string[] = [];
  const requests: DetectorService["requests"] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      const json = JSON.parse(body) as Record<string, unknown>;
      const [text, found] = answer(json, body, request.headers);
      texts.push(text);
      requests.push({ path: request.url ?? "", json });
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(found));
    })().catch((error: Error) => response.writeHead(401).end(error.message));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    texts,
    requests,
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
