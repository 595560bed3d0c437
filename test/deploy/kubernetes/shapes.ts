/** The kinds of resources in the manifests, field by field. Any other field counts as unknown, even if Kubernetes knows it. */
import { z } from "zod";
import type { Resource } from "./kustomize.ts";

const strict = z.strictObject;
const list = z.array;
const name = z.string().regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "a lower-case DNS label");
const labels = z.record(z.string(), z.string());
const quantity = z.string().regex(/^\d+(\.\d+)?(m|Ki|Mi|Gi)?$/, "a quantity");
const portNumber = z.number().int().min(1).max(65_535);
const port = z.union([portNumber, name]);
const metadata = strict({ name, namespace: name.optional(), labels: labels.optional() });

const selector = strict({
  matchLabels: labels.optional(),
  matchExpressions: list(
    strict({
      key: z.string(),
      operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]),
      values: list(z.string()).optional(),
    }),
  ).optional(),
});

const reference = { name, key: z.string(), optional: z.boolean().optional() };
const variable = strict({
  name: z.string().regex(/^[A-Z][A-Z0-9_]*$/),
  value: z.string().optional(),
  valueFrom: strict({
    secretKeyRef: strict(reference).optional(),
    configMapKeyRef: strict(reference).optional(),
    fieldRef: strict({ fieldPath: z.string() }).optional(),
  }).optional(),
});

const seconds = z.number().int().min(1).optional();
const probe = strict({
  httpGet: strict({ path: z.string().startsWith("/"), port }).optional(),
  tcpSocket: strict({ port }).optional(),
  initialDelaySeconds: z.number().int().min(0).optional(),
  periodSeconds: seconds,
  timeoutSeconds: seconds,
  failureThreshold: seconds,
});

const amounts = strict({ cpu: quantity.optional(), memory: quantity.optional() });
const container = strict({
  name,
  image: z.string(),
  args: list(z.string()).optional(),
  ports: list(strict({ name: name.max(15), containerPort: portNumber })).optional(),
  env: list(variable).optional(),
  envFrom: list(strict({ secretRef: strict({ name, optional: z.boolean().optional() }) })).optional(),
  startupProbe: probe.optional(),
  readinessProbe: probe.optional(),
  livenessProbe: probe.optional(),
  resources: strict({ requests: amounts, limits: amounts }),
  securityContext: strict({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: strict({ drop: z.tuple([z.literal("ALL")]) }),
  }),
  volumeMounts: list(
    strict({
      name,
      mountPath: z.string().startsWith("/"),
      subPath: z.string().optional(),
      readOnly: z.boolean().optional(),
    }),
  ).optional(),
});

const volume = strict({
  name,
  configMap: strict({ name }).optional(),
  secret: strict({
    secretName: name,
    defaultMode: z.number().optional(),
    items: list(strict({ key: z.string(), path: z.string() })).optional(),
  }).optional(),
  emptyDir: strict({ sizeLimit: quantity.optional(), medium: z.literal("Memory").optional() }).optional(),
});

const podSpec = strict({
  serviceAccountName: name.optional(),
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  restartPolicy: z.enum(["Always", "OnFailure", "Never"]).optional(),
  terminationGracePeriodSeconds: z.number().int().optional(),
  securityContext: strict({
    runAsNonRoot: z.literal(true),
    runAsUser: z.number().int().min(1),
    runAsGroup: z.number().int().min(1),
    fsGroup: z.number().int().optional(),
    seccompProfile: strict({ type: z.literal("RuntimeDefault") }),
  }),
  topologySpreadConstraints: list(
    strict({
      maxSkew: z.number().int().min(1),
      topologyKey: z.string(),
      whenUnsatisfiable: z.enum(["ScheduleAnyway", "DoNotSchedule"]),
      labelSelector: selector,
    }),
  ).optional(),
  containers: list(container).min(1),
  volumes: list(volume).optional(),
});
const template = strict({ metadata: strict({ labels }), spec: podSpec });
const claim = strict({
  metadata: strict({ name, labels: labels.optional() }),
  spec: strict({
    accessModes: list(z.enum(["ReadWriteOnce"])),
    resources: strict({ requests: strict({ storage: quantity }) }),
  }),
});

const retention = z.enum(["Retain", "Delete"]);
const peer = strict({
  podSelector: selector.optional(),
  namespaceSelector: selector.optional(),
  ipBlock: strict({ cidr: z.cidrv4(), except: list(z.cidrv4()).optional() }).optional(),
});
const openPorts = list(strict({ protocol: z.enum(["TCP", "UDP"]).optional(), port })).min(1);

const scaling = strict({
  stabilizationWindowSeconds: z.number().int().min(0).max(3_600),
  policies: list(
    strict({ type: z.enum(["Pods", "Percent"]), value: z.number().int().min(1), periodSeconds: seconds }),
  ).optional(),
});

const specs: Readonly<Record<string, z.ZodType>> = {
  "apps/v1 Deployment": strict({
    replicas: z.number().int().optional(),
    selector,
    strategy: strict({ rollingUpdate: strict({ maxUnavailable: z.literal(0), maxSurge: z.number().int().min(1) }) }),
    template,
  }),
  "apps/v1 StatefulSet": strict({
    replicas: z.number().int().optional(),
    serviceName: name,
    minReadySeconds: z.number().int().min(0).optional(),
    podManagementPolicy: z.enum(["Parallel", "OrderedReady"]).optional(),
    persistentVolumeClaimRetentionPolicy: strict({ whenDeleted: retention, whenScaled: retention }).optional(),
    selector,
    template,
    volumeClaimTemplates: list(claim).optional(),
  }),
  "batch/v1 Job": strict({ backoffLimit: z.number().int(), ttlSecondsAfterFinished: z.number().int(), template }),
  "v1 Service": strict({
    clusterIP: z.literal("None").optional(),
    selector: labels,
    ports: list(strict({ name, port: portNumber, targetPort: port, appProtocol: z.string().optional() })).min(1),
  }),
  "cert-manager.io/v1 Issuer": strict({
    selfSigned: strict({}).optional(),
    ca: strict({ secretName: name }).optional(),
  }),
  "cert-manager.io/v1 Certificate": strict({
    isCA: z.literal(true).optional(),
    commonName: name.optional(),
    secretName: name,
    duration: z.string().regex(/^\d+h$/),
    uris: list(z.string().regex(/^spiffe:\/\/[^/]+\/ns\/[^/]+\/sa\/[^/]+$/)).optional(),
    usages: list(z.enum(["digital signature", "server auth", "client auth"])).optional(),
    privateKey: strict({ algorithm: z.enum(["ECDSA", "RSA"]), rotationPolicy: z.enum(["Always", "Never"]).optional() }),
    issuerRef: strict({ kind: z.literal("Issuer"), name }),
  }),
  "policy/v1 PodDisruptionBudget": strict({ maxUnavailable: z.number().int().min(1), selector }),
  "networking.k8s.io/v1 NetworkPolicy": strict({
    podSelector: selector,
    policyTypes: list(z.enum(["Ingress", "Egress"])).min(1),
    ingress: list(strict({ from: list(peer).min(1), ports: openPorts })).optional(),
    egress: list(strict({ to: list(peer).min(1), ports: openPorts })).optional(),
  }),
  "autoscaling/v2 HorizontalPodAutoscaler": strict({
    scaleTargetRef: strict({ apiVersion: z.string(), kind: z.string(), name }),
    minReplicas: z.number().int().min(1),
    maxReplicas: z.number().int().min(1),
    metrics: list(
      strict({
        type: z.literal("Pods"),
        pods: strict({
          metric: strict({ name: z.string() }),
          target: strict({ type: z.literal("AverageValue"), averageValue: quantity }),
        }),
      }),
    ),
    behavior: strict({ scaleUp: scaling, scaleDown: scaling }).optional(),
  }),
};

const head = { apiVersion: z.string(), kind: z.string(), metadata };
const plain: Readonly<Record<string, z.ZodType>> = {
  "v1 ConfigMap": strict({ ...head, data: labels }),
  "v1 ServiceAccount": strict({ ...head, automountServiceAccountToken: z.literal(false) }),
};

/** @returns each problem with its path */
export function shapeProblems(resource: Resource): string[] {
  const kind = `${resource.apiVersion} ${resource.kind}`;
  const spec = specs[kind];
  const shape = plain[kind] ?? (spec && strict({ ...head, spec }));
  if (!shape) return [`unknown kind: ${kind}`];
  const { error } = shape.safeParse(resource);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
}
