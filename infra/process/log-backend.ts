/** The log between ingest and aggregator, as the configuration chooses it: topics in Kafka, or a hand-over in one process. */
import { positionAfterStored, positionInLog } from '../../aggregator/ledger/resume.ts'
import { untilStored } from '../../aggregator/ledger/until-stored.ts'
import type { RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import type { Store } from '../clickhouse/store.ts'
import type { Config } from '../config/config.ts'
import type { KafkaConnection } from '../config/kafka-config.ts'
import { inProcessLog } from '../kafka/in-process.ts'
import { type KafkaLog, kafkaBackfillLog, kafkaLog } from '../kafka/kafka.ts'
import type { Fact } from '../telemetry/fact.ts'

/** The two logs of one network. */
export type Logs = {
  stream: TickLog
  /** Final ranges that backfills and repairs have read. */
  backfillLog: TickLog<RangeOverwrite>
  close(): Promise<void>
}

export type RunContext = { report: Report<Fact>; signal: AbortSignal }

export type LogBackend = {
  open(network: NetworkName, store: Store, context: RunContext): Promise<Logs>
  /** Where the aggregator resumes. */
  findPosition: typeof positionInLog
  /** Whether the stream resumes above the stored tip: then a restart may truncate the tables to a checkpoint. */
  resumesAtStoredTip: boolean
  /** How a process without an aggregator appends history; absent where the log ends at this process. */
  openBackfillLog?: (network: NetworkName, context: RunContext) => Promise<KafkaLog<RangeOverwrite>>
}

export function logBackendOf(log: Config['log']): LogBackend {
  return log.kind === 'kafka' ? kafkaBackend(log) : IN_PROCESS
}

function kafkaBackend(connection: KafkaConnection): LogBackend {
  return {
    async open(network, _store, { report, signal }) {
      const options = { ...connection, network, report, signal }
      const [stream, backfillLog] = await Promise.all([kafkaLog(options), kafkaBackfillLog(options)])
      return logsOf(stream, backfillLog)
    },
    findPosition: positionInLog,
    resumesAtStoredTip: false,
    openBackfillLog: (network, { report, signal }) => kafkaBackfillLog({ ...connection, network, report, signal }),
  }
}

const IN_PROCESS: LogBackend = {
  async open(network, store, { report, signal }) {
    const { offset } = await untilStored({ network, report, signal }, () => positionAfterStored(store.owner, network))
    return logsOf(inProcessLog({ nextOffset: offset }), inProcessLog<RangeOverwrite>({ nextOffset: 0 }))
  },
  findPosition: positionAfterStored,
  resumesAtStoredTip: true,
}

type Closable = { close(): Promise<void> }

function logsOf(stream: TickLog & Closable, backfillLog: TickLog<RangeOverwrite> & Closable): Logs {
  const close = () => Promise.all([stream.close(), backfillLog.close()]).then(() => {})
  return { stream, backfillLog, close }
}
