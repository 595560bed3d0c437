/**
 * All services that a real installation calls, on one port: providers of five formats, models of tools, search engines, moderation, OCR, pages and a
 * sandbox.
 */
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { textPdf } from "../../support/documents/pdf.ts";
import { answerMcp } from "../../support/providers/mcp-answer.ts";
import { replyIn } from "./provider-replies.ts";
import { type ModelAnswer, type RowDialect, type ServiceName, rowDialects } from "./row.ts";

export interface ReceivedCall {
  readonly service: RowDialect | ServiceName;
  /** Path, query and body of the request as one text. */
  readonly text: string;
  /** The parsed body; its text if it is not JSON. */
  readonly value: unknown;
}

export interface RowServices {
  readonly origin: string;
  /** Calls since the last call of `script`. */
  readonly calls: readonly ReceivedCall[];
  /** Sets the answers of the models; the last answer of each list is repeated. */
  script(says: readonly ModelAnswer[], otherSays: readonly ModelAnswer[]): void;
  stop(): Promise<void>;
}

/** PNG of a white pixel, in base64. */
export const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII=";

export async function startRowServices(): Promise<RowServices> {
  let calls: ReceivedCall[] = [];
  const left: Record<"main" | "other", ModelAnswer[]> = { main: [], other: [] };
  const next = (list: "main" | "other") => (left[list].length > 1 ? left[list].shift() : left[list][0]) ?? {};
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = (await buffer(request)).toString();
    const url = request.url ?? "";
    const service = url.split("/", 2)[1] as ReceivedCall["service"];
    calls.push({ service, text: `${url} ${body}`, value: valueOf(body) });
    const [type, answer, status = 200] = answerOf(service, url, body, next, `http://${request.headers.host}`);
    response.writeHead(status, { "content-type": type }).end(answer);
  };
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  // If the server closed an idle connection, the next request could fail.
  server.keepAliveTimeout = 600_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get calls() {
      return calls;
    },
    script(says, otherSays) {
      [calls, left.main, left.other] = [[], [...says], [...otherSays]];
    },
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function valueOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

type Answered = readonly [type: string, body: string | Uint8Array, status?: number | undefined];

function answerOf(
  service: string,
  url: string,
  body: string,
  next: (list: "main" | "other") => ModelAnswer,
  origin: string,
): Answered {
  if (service === "page") return pageAt(url);
  if (service === "search") return json(resultsOf(url, `${origin}/page/cup.html`));
  if (service === "moderation") return json(moderationOf(body));
  if (service === "ocr") return json(readPages);
  if (service === "mcp") return json(answerMcp(body));
  if (service === "sandbox") return json(runsOf(body));
  const stream = /stream/.test(url) || (valueOf(body) as { stream?: unknown }).stream === true;
  const dialect = rowDialects.find((name) => name === service);
  const { type, body: answer, status } = replyIn(dialect ?? "chat", next(dialect ? "main" : "other"), stream);
  return [type, answer, status];
}

const json = (value: unknown): Answered => ["application/json", JSON.stringify(value)];

function pageAt(url: string): Answered {
  if (url.endsWith(".pdf")) return ["application/pdf", textPdf(["Cup notes of the PDF"])];
  if (url.endsWith(".png")) return ["image/png", Buffer.from(pixel, "base64")];
  const article = `<article><h1>Cup</h1>${"<p>The cup went to Bern this year, as the page says.</p>".repeat(8)}</article>`;
  return ["text/html", `<html><head><title>Cup</title></head><body>${article}</body></html>`];
}

function resultsOf(path: string, url: string): unknown {
  const page = { url, title: "Cup" };
  const text = "Bern won";
  if (path.includes("/files/"))
    return { data: [{ file_id: "f_1", filename: "cup.pdf", score: 0.9, content: [{ type: "text", text }] }] };
  if (path.endsWith("/contents")) return { results: [{ title: page.title, text }], statuses: [] };
  if (path.endsWith("/scrape")) return { success: true, data: { markdown: text, metadata: { statusCode: 200 } } };
  if (path.endsWith("/extract")) return { results: [{ title: page.title, full_content: text }], errors: [] };
  if (path.includes("/brave/")) return { web: { results: [{ ...page, description: text }] } };
  if (path.includes("/exa/")) return { results: [{ ...page, highlights: [text] }] };
  if (path.includes("/firecrawl/")) return { success: true, data: { web: [{ ...page, description: text }] } };
  if (path.includes("/perplexity/")) return { results: [{ ...page, snippet: text }] };
  if (path.includes("/parallel/")) return { results: [{ ...page, excerpts: [text] }] };
  return { results: [{ ...page, content: text }] };
}

/** Flags inputs that contain the word "forbidden". */
function moderationOf(body: string): unknown {
  const flagged = body.includes("forbidden");
  const categories = { violence: flagged };
  return { model: "omni", results: [{ flagged, categories, category_scores: { violence: flagged ? 0.9 : 0.01 } }] };
}

/** Each command prints the same text, and exits with 0. */
function runsOf(body: string): unknown {
  const { commands } = valueOf(body) as { readonly commands: readonly string[] };
  const ran = { stdout: "Ran in the sandbox", stderr: "", truncated: false, outcome: { type: "exit", exit_code: 0 } };
  return { output: commands.map(() => ran) };
}

const readPages = {
  pages: [{ index: 0, markdown: "Scanned cup", images: [] }],
  model: "mistral-ocr-latest",
  usage_info: { pages_processed: 1, doc_size_bytes: 10 },
};
