/** The name of a workspace's end users in policy changes. Apart from the calls, whose library the command line must not load. */

const prefix = "end-users/";

/** Name of a workspace's end users in policy changes, among the hashes of keys. */
export const endUsersName = (workspaceId: string): string => `${prefix}${workspaceId}`;

export const workspaceOf = (name: string): string => name.slice(prefix.length);
