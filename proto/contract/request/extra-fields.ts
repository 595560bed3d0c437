/** Limits of the fields that the contract does not have and that a provider may get all the same. */

export const maxExtraFields = 16;
/** The JSON of all of them: they hold settings, no content. */
export const maxExtraBytes = 65_536;
