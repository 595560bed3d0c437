/** Roles of people in the console. Each role has all permissions of the roles before it. */
export const roles = ["viewer", "operator", "admin"] as const;

export type Role = (typeof roles)[number];

export const isRole = (text: string): text is Role => (roles as readonly string[]).includes(text);

/** Whether a role has the permissions of another role. */
export const permits = (role: Role, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed);

/** Minimum role for an operation. By default, viewers may call `get` operations, and only administrators others. */
export const neededRole = ({ role, method }: { readonly role?: Role | undefined; readonly method: string }): Role =>
  role ?? (method === "get" ? "viewer" : "admin");
