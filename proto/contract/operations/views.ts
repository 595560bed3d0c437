/** Operations on saved views of the console's explorer. */
import { ViewService } from "../../gen/sluice/admin/v1/view_service_pb.ts";
import { viewExample } from "../examples/administration.ts";
import { toPageJson } from "../records/record-shapes.ts";
import {
  addressedName,
  deletedView,
  putViewAnswer,
  toViewJson,
  viewList,
  viewListQuery,
  viewSettings,
} from "../records/views.ts";
import { forwarded } from "./forward.ts";
import {
  type PathParameter,
  administrationStatuses,
  example,
  json,
  operation,
  putAnswer,
  reportStatuses,
} from "./operation.ts";

const tag = "Administration";
const key = "management";
const { method } = ViewService;
/** Maximum body size in bytes: a query of the maximum length, with each character escaped. */
const maxBytes = 32_768;

const name: PathParameter = {
  description: "Name of the view, percent-encoded. `.` and `..` cannot be addressed.",
  shape: addressedName,
  addressable: { form: /^(?!\.{1,2}$)/, otherwise: "View not found" },
};

const listViews = forwarded(
  operation({
    path: "/views",
    method: "get",
    tag,
    key,
    summary: "List the saved views",
    description: "The saved views of the console's explorer in the workspace, in the order of their code points.",
    query: viewListQuery,
    answer: {
      description: "A page of views.",
      content: [json(viewList, example({ data: [viewExample], total_count: 1, next_cursor: null }))],
    },
    statuses: reportStatuses([400, 401, 403, 500]),
  }),
  method.listViews,
  ({ query }) => query,
  ({ views, ...page }) => toPageJson(views.map(toViewJson), page),
);

const putView = forwarded(
  operation({
    path: "/views/{name}",
    method: "put",
    tag,
    key,
    role: "operator",
    summary: "Save a view",
    description:
      "Makes the view, or gives the one with this name another query. May be repeated. A workspace has at most 200 views: 409 for one more.",
    parameters: { name },
    body: { ...json(viewSettings, example({ query: viewExample.query })), maxBytes },
    answer: putAnswer("view", json(putViewAnswer, example({ data: viewExample, created: true, changed: true }))),
    statuses: [400, 401, 403, 404, 409, 500],
  }),
  method.putView,
  ({ parameters, body }) => ({ ...parameters, ...body }),
  ({ view, created, changed }) => ({ data: view && toViewJson(view), created, changed }),
);

const deleteView = forwarded(
  operation({
    path: "/views/{name}",
    method: "delete",
    tag,
    key,
    role: "operator",
    summary: "Delete a saved view",
    description: "Deletes the view of this name.",
    parameters: { name },
    answer: { description: "It is gone.", content: [json(deletedView, example({ deleted: true }))] },
    statuses: administrationStatuses,
  }),
  method.deleteView,
  ({ parameters }) => parameters,
  () => ({ deleted: true }),
);

export const viewOperations = { listViews, putView, deleteView };
