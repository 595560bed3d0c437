/** Keys that a provider refuses with a status of its own. */

/** xAI answers 400 to an unknown key, in both of its formats: an error of Sluice's credential, not of the request. */
export const isRefusedKey = (status: number | undefined, message: string): boolean =>
  status === 400 && /^(?:incorrect|invalid) api key/i.test(message);
