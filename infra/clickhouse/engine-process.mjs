/**
 * The process of the embedded ClickHouse: calls the engine in chdb's library, which serves HTTP until standard input ends.
 * Plain JavaScript, so that it needs no loader; arguments: the library, the configuration file, the port.
 */
import { DataType, isNullPointer, load, open } from 'ffi-rs'

const [library, configFile, port] = process.argv.slice(2)

// A service manager may signal the whole group; the engine has to outlive the process that writes to it.
// The handlers never run, because the call below blocks, but with them a signal does nothing.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined)

const argv = [
  // With `local` after it the engine would end at once.
  'clickhouse',
  `--config-file=${configFile}`,
  `--http_port=${port}`,
  // The second query ends when our parent closes the pipe or dies.
  `--query=SYSTEM START LISTEN HTTP; SELECT count() FROM file('-', 'LineAsString', 'line String')`,
]

// The call has to stay on this thread: the engine refuses a stack that it does not know.
open({ library: 'engine', path: library })
const result = call('chdb_query_cmdline', DataType.External, [DataType.I32, DataType.StringArray], [argv.length, argv])
// Some errors are printed by the engine, others only the result carries.
const error = call('chdb_result_error', DataType.External, [DataType.External], [result])
if (!isNullPointer(error)) {
  console.error(call('chdb_result_error', DataType.String, [DataType.External], [result]))
  process.exitCode = 1
}

function call(funcName, retType, paramsType, paramsValue) {
  return load({ library: 'engine', funcName, retType, paramsType, paramsValue })
}
