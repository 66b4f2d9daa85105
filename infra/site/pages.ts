/** Documents of the repository that are pages of the site, by the name of their page. */
export const SECTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Getting started': {
    index: 'README.md',
    configuration: 'infra/docs/configuration.md',
    deployment: 'infra/docs/deployment.md',
    releases: 'infra/docs/releases.md',
    changelog: 'CHANGELOG.md',
  },
  'Market data': {
    api: 'api/extras/docs/api.md',
    streams: 'api/extras/docs/streams.md',
    topics: 'api/extras/docs/topics.md',
    export: 'infra/docs/export.md',
    sql: 'infra/docs/sql.md',
    udf: 'api/extras/docs/udf.md',
    mcp: 'api/extras/docs/mcp.md',
    skill: 'api/extras/docs/SKILL.md',
    page: 'api/extras/docs/page.md',
    python: 'api/extras/clients/python/README.md',
    typescript: 'api/extras/clients/typescript/README.md',
  },
  Operation: {
    monitoring: 'infra/docs/monitoring.md',
    runbook: 'infra/docs/runbook.md',
    trust: 'infra/docs/trust.md',
    proofs: 'infra/docs/proofs.md',
    figures: 'test/bench/README.md',
  },
  'How it works': {
    ingest: 'ingest/README.md',
    aggregator: 'aggregator/README.md',
    market: 'api/market/README.md',
    infra: 'infra/README.md',
    contributing: '.github/CONTRIBUTING.md',
    security: '.github/SECURITY.md',
  },
}

/** Pages by the place of their document. */
export const PAGES: ReadonlyMap<string, string> = new Map(
  Object.values(SECTIONS).flatMap((section) => Object.entries(section).map(([page, path]) => [path, page] as const)),
)
