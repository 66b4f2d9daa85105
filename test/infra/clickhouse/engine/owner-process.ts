/** A process that runs an engine until it is killed: `tsx owner-process.ts <folder>` prints the engine's process id and address. */
import { startEngine } from '../../../../infra/clickhouse/engine/engine.ts'

const [dataDir = ''] = process.argv.slice(2)
const engine = await startEngine({ dataDir })
console.log(JSON.stringify({ pid: engine.pid, url: engine.url }))
await engine.exited
