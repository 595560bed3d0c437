/** gRPC service for saved views of the console's explorer: list, save and delete. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { defaultViewPage, maxViews } from "@sluice/proto/contract/records/views.js";
import {
  DeleteViewResponseSchema,
  ListViewsResponseSchema,
  PutViewResponseSchema,
  type View,
  ViewSchema,
  type ViewService,
} from "@sluice/proto/gen/sluice/admin/v1/view_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { checkView, checkViewName } from "../rules/views.ts";
import { type ViewRow, deleteView, pageOfViews, putView } from "../store/views.ts";
import { asAdministrator, asReport } from "./caller.ts";
import type { Deps } from "./deps.ts";
import { pageFields, resolvePage } from "./reports/page.ts";

export function viewService(deps: Deps): ServiceImpl<typeof ViewService> {
  const { writes } = deps;
  const administer = asAdministrator(deps);
  return {
    listViews: (given, context) =>
      asReport(deps, "limit, and cursor in place of offset")(context, async ({ workspaceId }, database) => {
        const page = resolvePage(given, defaultViewPage);
        const { rows, ...others } = await pageOfViews(database, workspaceId, page);
        return create(ListViewsResponseSchema, { views: rows.map(viewMessage), ...pageFields(others) });
      }),
    putView: ({ name, query }, context) =>
      administer(context, async (administrator) => {
        checkView({ name, query });
        const put = await putView(writes, administrator, { name, query });
        if (put === "full") throw new Fault(FaultReason.CONFLICT, `A workspace has at most ${maxViews} views`);
        const { row, created, changed } = put;
        return create(PutViewResponseSchema, { view: viewMessage(row), created, changed });
      }),
    deleteView: ({ name }, context) =>
      administer(context, async (administrator) => {
        checkViewName(name);
        const isDeleted = await deleteView(writes, administrator, name);
        if (!isDeleted) throw new Fault(FaultReason.NOT_FOUND, "View not found");
        return create(DeleteViewResponseSchema);
      }),
  };
}

const viewMessage = (row: ViewRow): View =>
  create(ViewSchema, {
    name: row.name,
    query: row.query,
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
    updatedAt: timestampFromDate(row.updated_at),
  });
