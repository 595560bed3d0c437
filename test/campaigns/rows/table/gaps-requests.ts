/** Rows of requests and files with earlier failures. */
import type { Row } from "../row.ts";
import {
  docxFile,
  exampleFunction,
  greetingMessage,
  requestWithHistory,
  expectOutput,
  requestWithParts,
  pdfFile,
  requestWithPlugin,
  pngUrl,
  scanFile,
  servicesOrigin,
  expectStage,
} from "./asks.ts";

const textOnly = ["t/text-only"];
/** A question that the routers cannot classify without a model. */
const unclear = "Warum faellt der Server jede Nacht aus?";
const said = (text: string) => expectOutput({ type: "message", content: [{ text }] });
const bug = "Why does this TypeScript function throw? function f(a) { return a.b.c }";

export const requestGaps: readonly Row[] = [
  {
    name: "2.1 background",
    final: "responses are not stored",
    cases: [
      {
        ask: { background: true },
        on: ["chat"],
        refused: [400, /background: must be false: responses are not stored/],
      },
    ],
  },
  {
    name: "2.1 prompt",
    final: "no prompts are stored",
    cases: [{ ask: { prompt: { id: "pmpt_1" } }, refused: [404, /pmpt_1 not found: no prompts are stored/] }],
  },
  {
    name: "2.1 provider.sort",
    cases: ["price", "throughput", "latency", { by: "price", partition: "none" }, "exacto"].map((sort) => ({
      ask: { provider: { sort } },
      on: ["chat"],
      sent: { model: "large-1" },
    })),
  },
  {
    name: "2.1 provider.sort exacto: endpoints whose tool calls fit come first",
    cases: [
      {
        // The share of failed calls is used from twenty calls on, and each call soon weighs a little less.
        ask: { tools: [exampleFunction], provider: { sort: "price" } },
        on: ["t/twins"],
        says: [{ calls: Array.from({ length: 25 }, () => ({ name: "f", args: { a: 1 } })) }],
      },
      {
        ask: { provider: { sort: "price" } },
        on: ["t/twins"],
        otherSays: [{ text: "The other" }],
        back: said("Hello"),
      },
      {
        ask: { provider: { sort: "exacto" } },
        on: ["t/twins"],
        otherSays: [{ text: "The other" }],
        back: said("The other"),
      },
    ],
  },
  {
    name: "2.1 safety_identifier (other OpenAI-compatible servers)",
    cases: [
      {
        ask: { safety_identifier: "person-1" },
        on: ["chat", "responses", "gemini", "converse"],
        lost: {
          chat: "safety_identifier",
          responses: "safety_identifier",
          gemini: "safety_identifier",
          converse: "safety_identifier",
        },
      },
      { ask: { safety_identifier: "person-1" }, unsent: /person-1/ },
      { ask: { safety_identifier: "person-1" }, on: ["messages"], sent: { metadata: { user_id: /^[\w-]{16,}$/ } } },
    ],
  },
  {
    name: "13 file-parser: DOCX",
    cases: [
      {
        ask: { ...requestWithParts(docxFile), ...requestWithPlugin("file-parser") },
        on: textOnly,
        sent: /Cup notes of the DOCX/,
      },
      { ask: requestWithParts(docxFile), on: textOnly, sent: /Cup notes of the DOCX/ },
    ],
  },
  {
    name: "13 file-parser: DOCX/ZIP against the README",
    cases: [
      {
        ask: {
          ...requestWithParts({ ...docxFile, filename: "a.zip", file_data: "data:application/zip;base64,UEsDBAoA" }),
          ...requestWithPlugin("file-parser"),
        },
        on: textOnly,
        refused: [400, /^input\.0\.content\.0/],
      },
    ],
  },
  {
    name: "13 file-parser: file_url",
    cases: [
      {
        ask: {
          ...requestWithParts({ type: "input_file", file_url: `${servicesOrigin}/page/cup.pdf` }),
          ...requestWithPlugin("file-parser"),
        },
        on: textOnly,
        sent: /Cup notes of the PDF/,
      },
    ],
  },
  {
    name: "13 file-parser: message of engine ocr",
    cases: [
      {
        ask: { ...requestWithParts(scanFile), ...requestWithPlugin("file-parser", { pdf: { engine: "ocr" } }) },
        on: ["chat"],
        bare: true,
        refused: [400, /internal_models\.ocr/],
      },
    ],
  },
  ...["mistral-ocr", "ocr"].map((engine) => ({
    name: `13 file-parser: pdf.engine ${engine}`,
    cases: [
      {
        ask: { ...requestWithParts(scanFile), ...requestWithPlugin("file-parser", { pdf: { engine } }) },
        on: [...textOnly, "chat", "messages"],
        otherSays: [{ text: "Scanned cup" }],
        sent: /Scanned cup/,
      },
    ],
  })),
  {
    name: "13 file-parser: scanned PDF (image only)",
    cases: [
      { ask: requestWithParts(scanFile), on: textOnly, otherSays: [{ text: "Scanned cup" }], sent: /Scanned cup/ },
    ],
  },
  {
    name: "file without the plugin to a text-only model",
    cases: [{ ask: requestWithParts(pdfFile), on: textOnly, sent: /Cup notes of the PDF/ }],
  },
  {
    name: "13 moderation: images are not looked at",
    cases: [
      {
        ask: { ...requestWithParts({ type: "input_image", image_url: pngUrl }), ...requestWithPlugin("moderation") },
        on: ["chat"],
        to: { moderation: /image_url/ },
      },
    ],
  },
  {
    name: "13 auto-router: last message alone",
    cases: [
      {
        ask: {
          ...requestWithHistory({ role: "user", content: bug }, { role: "assistant", content: "Show me more." }),
          session_id: "s1",
        },
        on: ["service/auto"],
        back: expectStage("auto-router", { task_type: "code" }),
      },
      {
        ask: {
          input: [
            greetingMessage,
            { role: "user", content: bug },
            { role: "user", content: "<system-reminder>Be brief.</system-reminder>" },
          ],
        },
        on: ["service/auto"],
        back: expectStage("auto-router", { task_type: "code" }),
      },
    ],
  },
  {
    name: "13 auto-router: a model as classifier (router_classifier)",
    cases: [
      {
        ask: { input: unclear },
        on: ["service/auto"],
        otherSays: [{ text: JSON.stringify({ task: "math", difficulty: 4 }) }],
        to: { other: /Warum faellt/ },
        back: expectStage("auto-router", { classifier: "model", classifier_model: "t/other", task_type: "math" }),
      },
    ],
  },
  {
    name: "13 jev-router: decision model (jev_decider)",
    cases: [
      {
        ask: { input: unclear },
        on: ["service/jev-router"],
        otherSays: [{ text: JSON.stringify({ task: "other", difficulty: 4 }) }],
        to: { other: /Warum faellt/ },
        back: expectStage("jev-router", { decider: "model", decider_model: "t/other" }),
      },
    ],
  },
];
