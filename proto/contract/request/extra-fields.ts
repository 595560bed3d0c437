/** Limits of fields outside the contract; a provider may still receive them. */

export const maxExtraFields = 16;
/** Limit for the JSON of all of them: they hold settings, no content. */
export const maxExtraBytes = 65_536;
