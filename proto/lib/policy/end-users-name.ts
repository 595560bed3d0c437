/**
 * The name for a workspace's end users in policy changes. This is a separate file because the command line must not
 * load the RPC library that questions.ts needs.
 */

const prefix = "end-users/";

/** Name for a workspace's end users in policy changes, which otherwise name hashes of keys. */
export const endUsersName = (workspaceId: string): string => `${prefix}${workspaceId}`;

export const workspaceOf = (name: string): string => name.slice(prefix.length);
