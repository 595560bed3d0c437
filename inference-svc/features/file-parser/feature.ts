/** The stack entries of the plugin `file-parser`. */
export { fileDownloads } from "./downloads.ts";
export { scannedPages } from "./ocr.ts";
export { fileParser, parserEngines } from "./parser.ts";
