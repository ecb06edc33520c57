/** What the settings page asks for and changes: settings, endpoints, alert rules, tokens. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMayRead } from "@/api/access";
import { api, type Schemas, unwrap, WATCH_MS } from "@/api/client";
import { saveToken } from "@/api/token";

export type AlertRule = Schemas["AlertRuleState"];
export type Role = Schemas["Role"];
export type SettingsView = Schemas["SettingsView"];

export function useSettings() {
  return useQuery({ queryKey: ["settings"], queryFn: () => unwrap(api.GET("/api/v1/settings")) });
}

export function useAlertRules() {
  return useQuery({
    queryKey: ["alerts", "rules"],
    queryFn: () => unwrap(api.GET("/api/v1/alerts", { params: { query: { limit: 1 } } })),
    refetchInterval: WATCH_MS,
  });
}

/** Every change of a rule answers with all rules, which are shown at once. */
function useRuleChange<Input>(change: (input: Input) => Promise<Schemas["AlertsState"]>) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (state) => {
      cache.setQueryData(["alerts", "rules"], state);
      void cache.invalidateQueries({ queryKey: ["alerts"] });
    },
  });
}

export const useAddRule = () =>
  useRuleChange((rule: Record<string, unknown>) => unwrap(api.POST("/api/v1/alerts/rules", { body: rule })));

export const useRemoveRule = () =>
  useRuleChange((name: string) => unwrap(api.DELETE("/api/v1/alerts/rules", { params: { query: { name } } })));

export const useMute = () =>
  useRuleChange((muted: { rule: string; hours: number }) => unwrap(api.POST("/api/v1/alerts/mute", { body: muted })));

export const useTestAlerts = () => useMutation({ mutationFn: () => unwrap(api.POST("/api/v1/alerts/test")) });

export const useTryEndpoint = () =>
  useMutation({
    mutationFn: (endpoint: string) => unwrap(api.POST("/api/v1/settings/endpoint", { body: { endpoint } })),
  });

export const useTryRedaction = () =>
  useMutation({ mutationFn: (text: string) => unwrap(api.POST("/api/v1/settings/redaction", { body: { text } })) });

export function useTokens() {
  const enabled = useMayRead("owner");
  return useQuery({ queryKey: ["tokens"], queryFn: () => unwrap(api.GET("/api/v1/tokens")), enabled });
}

export function useAddToken() {
  const cache = useQueryClient();
  return useMutation({
    /** From the first token on every caller needs one: this browser takes it before it asks for anything else. */
    mutationFn: async ({ first, ...wanted }: { name: string; role: Role; first: boolean }) => {
      const made = await unwrap(api.POST("/api/v1/tokens", { body: wanted }));
      if (first) saveToken(made.token);
      return made;
    },
    onSuccess: (_, { first }) => void cache.invalidateQueries(first ? {} : { queryKey: ["tokens"] }),
  });
}

export function useRevokeToken() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(api.DELETE("/api/v1/tokens/{token_id}", { params: { path: { token_id: id } } })),
    onSuccess: () => void cache.invalidateQueries({ queryKey: ["tokens"] }),
  });
}

/** What each kind of alert watches, and the numbers it takes; a duration is written as 30m, 12h or 7d. */
export const ALERT_KINDS = {
  failing_rate: {
    label: "A check or score fails too often",
    fields: [
      { name: "check", label: "Check or score", initial: "answered" },
      { name: "above", label: "Alert above this share", initial: "0.1" },
      { name: "window", label: "Within", initial: "1h" },
    ],
  },
  intake_stopped: {
    label: "No trace has come for a while",
    fields: [{ name: "after", label: "After", initial: "30m" }],
  },
  dataset_drop: {
    label: "A dataset lost cases",
    fields: [
      { name: "by", label: "Alert above this share", initial: "0.1" },
      { name: "window", label: "Within", initial: "24h" },
    ],
  },
  gate_failed: { label: "A quality gate failed", fields: [] },
  coverage_low: {
    label: "Too little of the traffic is covered",
    fields: [{ name: "below", label: "Alert below this share", initial: "0.5" }],
  },
  topic_drift: { label: "People ask other things than before", fields: [] },
} as const;

export type AlertKind = keyof typeof ALERT_KINDS;

/** The limits of a rule in a few words: "check answered, above 0.1, window 1h". */
export function limitsInWords(rule: AlertRule): string {
  return Object.entries(rule.limits ?? {})
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ");
}

/** A value as it is shown: nothing set, hidden from this role, or the value. */
export function valueInWords(value: unknown): string {
  if (value === null || value === undefined) return "for owners only";
  if (value === "" || (Array.isArray(value) && value.length === 0)) return "not set";
  return typeof value === "string" ? value : JSON.stringify(value);
}
