/** The reason why a document has no text here. The message completes "the PDF" or "the DOCX file" and is fit to show to clients. */
export class UnreadableDocument extends Error {}
