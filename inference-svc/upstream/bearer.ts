/** The headers of servers that take their key as a bearer token: nearly all. */
export const bearer = (key: string | undefined): Readonly<Record<string, string>> =>
  key === undefined ? {} : { authorization: `Bearer ${key}` };
