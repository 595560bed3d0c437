/** Pages as they are asked for over gRPC, where 0 is unset. */
import { pageQuery } from "@sluice/proto/contract/records.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";
import { object } from "@sluice/proto/runtime/validation/shape.js";
import type { Page } from "../store/page.ts";

/** @param usual rows when no limit is given. @throws Fault INVALID_REQUEST */
export function pageOf({ offset, limit }: Page, usual: number): Page {
  const page = { offset, limit: limit === 0 ? usual : limit };
  checked((problems) => object(pageQuery(usual)).check(page, "", problems));
  return page;
}
