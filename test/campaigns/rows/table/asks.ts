/** Parts of requests that many rows use. */
import { buildDocx, docxParagraph } from "../../../support/documents/office.ts";
import { pdfPages, textPdf, toDataUrl } from "../../../support/documents/pdf.ts";
import { pixel } from "../services.ts";

/** Placeholder for the origin of the services, replaced when a request is sent. */
export const servicesOrigin = "http://services.invalid";

/** Placeholder for a number that differs in every request, to avoid cached results. */
export const uniqueWord = "unique-word";

export const userMessageOf = (...content: readonly object[]) => ({ role: "user", content });
export const textPart = (text: string) => ({ type: "input_text", text });
export const greetingMessage = { role: "user", content: "Hi" };

/** A request whose only message has these parts. */
export const requestWithParts = (...content: readonly object[]) => ({ input: [userMessageOf(...content)] });
/** A request whose history contains these items, followed by a question. */
export const requestWithHistory = (...items: readonly object[]) => ({
  input: [greetingMessage, ...items, { role: "user", content: "Go on" }],
});

export const pngUrl = `data:image/png;base64,${pixel}`;
export const pdfFile = {
  type: "input_file",
  filename: "cup.pdf",
  file_data: toDataUrl(textPdf(["Cup notes of the PDF"])),
};
/** A PDF whose pages contain no text. */
export const scanFile = {
  type: "input_file",
  filename: "scan.pdf",
  file_data: toDataUrl(pdfPages(["0 0 m 100 100 l S"])),
};
export const docxFile = {
  type: "input_file",
  filename: "cup.docx",
  file_data: toDataUrl(
    buildDocx(docxParagraph("Cup notes of the DOCX")),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  ),
};

export const requestWithPlugin = (id: string, settings: object = {}) => ({ plugins: [{ id, ...settings }] });
export const requestWithTool = (type: string, settings: object = {}) => ({ tools: [{ type, ...settings }] });
export const requestWithServiceTool = (kind: string, parameters: object = {}) =>
  requestWithTool(`service:${kind}`, { parameters });

export const exampleFunction = {
  type: "function",
  name: "f",
  parameters: { type: "object", properties: { a: { type: "string" } } },
};

/** Answers of a model that calls a tool and then says something. */
export const repliesWithCall = (name: string, args: object = {}) => [{ calls: [{ name, args }] }, { text: "Done" }];

/** Expects each of these items in the answer. */
export const expectOutput = (...items: readonly object[]) => ({ output: items });
export const expectStage = (name: string, data?: object) => ({
  service_metadata: { pipeline: [{ name, ...(data && { data }) }] },
});
