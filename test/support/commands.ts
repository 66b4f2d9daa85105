/** The commands that a document prints, in its order, and those that are not run as printed, with the reason. */

export type Command = {
  text: string
  /** In a sentence or a table, where a block has commands to type one after the other. */
  isInline: boolean
}

export type Reasons = readonly (readonly [start: string, reason: string])[]

/** On a machine with Node, bash and curl. */
export const NOT_RUN: Reasons = [
  ['curl -N', 'a stream, which has no end: stream.int.test.ts reads it'],
  ['npm install && npm test', 'every test: .ci/run'],
  ['ETHEREUM_RPC_URL=wss://…', 'a real chain'],
  ['NETWORKS=arbitrum,base npm start', 'real chains'],
  ['npm run bench', 'takes minutes'],
  ['SECONDS=5 KINDS=mix', 'takes minutes'],
  ['cryo ', 'cryo and a real chain: test/fixtures/cryo has its files'],
  ['npm run backfill -- --network', 'blocks of a real chain: backfill.int.test.ts'],
  ['npm run -s prove -- --', 'a tick of a real chain: real-nodes.int.test.ts'],
  ['npm run rewind -- --network', 'a block of a real chain: rewind.int.test.ts'],
  ['export ETHEREUM_RPC_URL', 'a real chain, Kafka and a ClickHouse server: test/containers'],
  ['npm run ingest', 'a real chain and Kafka: test/containers'],
  ['npm run aggregate', 'a real chain and Kafka: test/containers'],
  ['API_PROCESSES=4', 'a port of its own: api-processes.int.test.ts'],
  ['npm run api', 'a real chain and Kafka: test/containers'],
  ['TRUST_PROXY=', 'a proxy, a real chain and Kafka: bad-keys.int.test.ts'],
  ['cp infra/.env.example', 'Docker: test/containers'],
  ['docker compose', 'Docker: test/containers'],
  ['CLICKHOUSE_CLUSTER=', 'several servers: shards.int.test.ts'],
  ['prometheus --config.file', 'Prometheus'],
  ['schemathesis run', 'a package of Python'],
  ['python3 -m venv', 'packages of Python: clients.int.test.ts'],
  ['test/containers/stand-in/build.sh', 'root, debootstrap'],
  ['env $(cat test/containers', 'Docker'],
  ['DATA_DIR="$NEW" npm run', 'a folder of its own: runbook-restore.int.test.ts'],
  ['mkdir -p "$NEW', 'a folder of its own: runbook-restore.int.test.ts'],
  ['STORE=$(cat', 'a folder of its own: runbook-restore.int.test.ts'],
  ['cp -r "$DATA_DIR', 'a folder of its own: runbook-restore.int.test.ts'],
  ['git pull', 'changes the sources'],
]

/** Blocks of `sh`, what follows a prompt in blocks of `console`, and code in sentences and tables that begins as a command does. */
const PLACES =
  /^```(sh|console)\n(.*?)^```$|^```[^\n]*\n.*?^```$|`((?:npm (?:run|test)|npx|pip|curl|\.ci\/)[^`\n]*)`/gms

export function commandsOf(document: string): readonly Command[] {
  const all = [...document.matchAll(PLACES)].flatMap(([, language, block = '', inline]) => {
    if (inline !== undefined) return [{ text: inline, isInline: true }]
    if (language === undefined) return []
    return linesOf(language === 'sh' ? block : prompted(block)).map((text) => ({ text, isInline: false }))
  })
  return all.filter(({ text }, index) => all.findIndex((one) => one.text === text) === index)
}

function prompted(block: string): string {
  return [...block.matchAll(/^\$ (.*)$/gm)].map(([, line]) => line).join('\n')
}

function linesOf(block: string): string[] {
  return block
    .split('\n')
    .map((line) => line.replace(/\s+# .*/, '').trim())
    .filter((line) => line !== '')
}

export function reasonOf(command: string, reasons: Reasons): string | undefined {
  return reasons.find(([start]) => command.startsWith(start))?.[1]
}
