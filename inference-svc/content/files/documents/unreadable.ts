/**
 * An error with the reason why no text could be read from a document. The message completes "the PDF" or "the DOCX
 * file" and may be shown to clients.
 */
export class UnreadableDocument extends Error {}
