/** Name of the providers in the database among the hashes of keys in policy changes. Apart from the calls, whose library the command line must not load. */
export const providersName = "providers";
