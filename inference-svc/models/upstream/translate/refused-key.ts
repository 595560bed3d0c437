/** Keys refused by a provider with an unusual status. */

/** xAI answers 400 to an unknown key, in both of its formats: an error of Sluice's credential, not of the request. */
export const isRefusedKey = (status: number | undefined, message: string): boolean =>
  status === 400 && /^(?:incorrect|invalid) api key/i.test(message);
