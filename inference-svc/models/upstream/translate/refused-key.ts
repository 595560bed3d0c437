/** Recognizes keys a provider refuses with an unusual status. */

/** xAI answers 400 to an unknown key in both of its formats, although Sluice's key is wrong and not the request. */
export const isRefusedKey = (status: number | undefined, message: string): boolean =>
  status === 400 && /^(?:incorrect|invalid) api key/i.test(message);
