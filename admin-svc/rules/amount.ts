/** Amounts of money as decimal texts, the form used by HTTP, gRPC and the command line. */

/** An invalid amount stays a text, for the check of its shape to refuse. */
export const parseAmount = (text: string): number | string =>
  /^\d{1,12}(\.\d{1,12})?$/.test(text) ? Number(text) : text;
