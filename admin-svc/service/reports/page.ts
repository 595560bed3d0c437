/** Converts the paging fields of gRPC requests and answers; 0 and the empty text mean unset. */
import { pageQuery } from "@sluice/proto/contract/records/record-shapes.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { object } from "@sluice/proto/lib/validation/shape.js";
import type { Page, PagedRows } from "../../store/page.ts";

/** @param defaultLimit number of rows when the request gives no limit @throws Fault INVALID_REQUEST */
export function resolvePage({ offset, limit, cursor }: Page & { readonly cursor: string }, defaultLimit: number): Page {
  const page = { offset, limit: limit === 0 ? defaultLimit : limit, cursor: cursor === "" ? undefined : cursor };
  throwProblems((problems) => {
    object(pageQuery(defaultLimit)).check(page, "", problems);
    if (cursor !== "" && offset > 0) problems.add("offset", "cannot be given with a cursor");
  });
  return page;
}

/** Paging fields of an answer. */
export const pageFields = ({ total, nextCursor = "" }: Omit<PagedRows<unknown>, "rows">) => ({
  totalCount: BigInt(total),
  nextCursor,
});
