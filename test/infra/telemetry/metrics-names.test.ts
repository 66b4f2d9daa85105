/** Dashboards and alert rules use existing metrics and labels; and every metric is on a dashboard or in an alert. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openMetrics } from '../../../infra/telemetry/metrics.ts'
import { storeMetrics } from '../../../infra/telemetry/metrics-store.ts'

const INFRA = join(import.meta.dirname, '../../../infra')
const DASHBOARDS = join(INFRA, 'grafana/dashboards')

type Labels = ReadonlySet<string>
/** Names as they are scraped, with the labels that each has. */
type Known = ReadonlyMap<string, Labels>
type Query = { where: string; expression: string; legend?: string }

/** Labels that a scrape adds to every series. */
const OF_TARGETS = ['instance', 'job']
const WORDS = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right'])

function knownMetrics(): Known {
  const { registry } = openMetrics(['ethereum'])
  storeMetrics(registry)
  const known = new Map<string, Labels>()
  for (const metric of registry.getMetricsAsArray()) {
    const { name, labelNames, buckets } = metric as unknown as { name: string; labelNames: string[]; buckets?: unknown }
    // Prometheus would rename ours.
    for (const label of OF_TARGETS) if (labelNames.includes(label)) throw new Error(`${name} has a label ${label}.`)
    const labels = [...labelNames, ...OF_TARGETS]
    if (buckets === undefined) known.set(name, new Set(labels))
    else {
      known.set(`${name}_bucket`, new Set([...labels, 'le']))
      for (const suffix of ['_sum', '_count']) known.set(name + suffix, new Set(labels))
    }
  }
  return known
}

/** Errors in a query: unregistered names, and labels that the metric before them does not have. */
function faultsOf({ where, expression, legend = '' }: Query, known: Known): string[] {
  const faults: string[] = []
  const all = new Set<string>()
  for (const [, name = '', selector = ''] of expression.matchAll(/(candlepool_\w+)(?:\{([^}]*)\})?/g)) {
    const labels = known.get(name)
    if (!labels) faults.push(`${where}: there is no ${name}`)
    for (const label of labels ?? []) all.add(label)
    for (const [, label = ''] of selector.matchAll(/(\w+)\s*[=!]/g)) {
      if (labels && !labels.has(label)) faults.push(`${where}: ${name} has no label ${label}`)
    }
  }
  const grouped = [...expression.matchAll(/\b(\w+)\s*\(([\w\s,]*)\)/g)].filter(([, word = '']) => WORDS.has(word))
  const used = grouped.flatMap(([, , labels = '']) => labels.split(',').map((it) => it.trim()))
  for (const label of used)
    if (all.size > 0 && !all.has(label)) faults.push(`${where}: nothing in it has a label ${label}`)
  for (const [, label = ''] of legend.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)) {
    // What is grouped away can't be shown.
    const shown = used.length > 0 ? used : [...all, ...OF_TARGETS]
    if (!shown.includes(label)) faults.push(`${where}: it does not keep the label ${label}, and shows it`)
  }
  return faults
}

type Panel = { title: string; panels?: Panel[]; targets?: { expr: string; legendFormat: string }[] }

function queriesOfDashboards(): Query[] {
  return readdirSync(DASHBOARDS).flatMap((file) => {
    const { panels, templating } = JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8'))
    const ofPanel = ({ title, targets = [], panels = [] }: Panel): Query[] => [
      ...targets.map(({ expr, legendFormat }) => ({ where: title, expression: expr, legend: legendFormat })),
      ...panels.flatMap(ofPanel),
    ]
    const variables = templating.list.flatMap(({ name, definition }: { name: string; definition?: string }) =>
      definition === undefined ? [] : [{ where: `$${name}`, expression: definition }],
    )
    return [...(panels as Panel[]).flatMap(ofPanel), ...variables]
  })
}

function queriesOfAlerts(): Query[] {
  const rules = readFileSync(join(INFRA, 'prometheus/alerts.yml'), 'utf8')
    .split(/^\s+- alert: /m)
    .slice(1)
  return rules.map((rule) => {
    const [where = ''] = rule.split('\n')
    const [, expression] = /^\s+expr: (.+)$/m.exec(rule) ?? []
    if (expression === undefined) throw new Error(`${where} has no expression on one line.`)
    return {
      where,
      expression,
      legend: (/^\s+annotations:\n([\s\S]*)/m.exec(rule)?.[1] ?? '').replaceAll('| humanize', ''),
    }
  })
}

const known = knownMetrics()

describe.each([
  ['dashboards', queriesOfDashboards()],
  ['alert rules', queriesOfAlerts()],
])('%s', (_, queries) => {
  test('are there', () => expect(queries.length).toBeGreaterThan(20))

  test('ask for what there is', () => {
    expect(queries.flatMap((query) => faultsOf(query, known))).toEqual([])
  })
})

test('every metric is on a dashboard or in an alert', () => {
  const asked = [...queriesOfDashboards(), ...queriesOfAlerts()].map(({ expression }) => expression).join('\n')
  const names = [...known.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, ''))
  expect(names.filter((name) => !asked.includes(name))).toEqual([])
  for (const name of known.keys()) expect(name).toMatch(/^candlepool_/)
})

describe('a query is not taken that', () => {
  test.each([
    ['names what is not there', 'rate(candlepool_sold_total[5m])', '', 'there is no candlepool_sold_total'],
    ['names a histogram without its part', 'candlepool_flush_seconds', '', 'there is no candlepool_flush_seconds'],
    ['selects by another label', 'candlepool_stalled{pool="a"}', '', 'candlepool_stalled has no label pool'],
    ['groups by another label', 'sum by (network, pool) (candlepool_stalled)', '', 'nothing in it has a label pool'],
    [
      'shows what it grouped away',
      'sum by (network) (candlepool_rpc_errors_total)',
      '{{endpoint}}',
      'it does not keep the label endpoint, and shows it',
    ],
  ])('%s', (_, expression, legend, fault) => {
    expect(faultsOf({ where: 'it', expression, legend }, known)).toEqual([`it: ${fault}`])
  })
})
