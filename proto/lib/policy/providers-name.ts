/**
 * The name for the providers of the database in policy changes, which otherwise name hashes of keys. This is a separate
 * file because the command line must not load the RPC library of other files.
 */
export const providersName = "providers";
