/** Pages of gRPC requests; 0 means unset. */
import { pageQuery } from "@sluice/proto/contract/records/record-shapes.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { object } from "@sluice/proto/lib/validation/shape.js";
import type { Page } from "../../store/page.ts";

/** @param defaultLimit rows when no limit is given @throws Fault INVALID_REQUEST */
export function resolvePage({ offset, limit }: Page, defaultLimit: number): Page {
  const page = { offset, limit: limit === 0 ? defaultLimit : limit };
  throwProblems((problems) => object(pageQuery(defaultLimit)).check(page, "", problems));
  return page;
}
