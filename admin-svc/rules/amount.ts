/** Amounts of money as decimal texts, the form used by HTTP, gRPC and the command line. */

/** Parses an amount. An invalid amount stays a text, so the check of its shape refuses it. */
export const parseAmount = (text: string): number | string =>
  /^\d{1,12}(\.\d{1,12})?$/.test(text) ? Number(text) : text;
