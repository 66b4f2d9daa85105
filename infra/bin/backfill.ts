/** `npm run backfill`: reads a range of final history: in a cluster, beside a running `npm start`, and alone. */
import { z } from 'zod'
import { failJob, type JobRequest, readJob } from '../../aggregator/jobs/job.ts'
import { asTyped } from '../../ingest/lib/as-typed.ts'
import { NETWORK_NAMES } from '../../ingest/model/network.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { listCryoFiles, rangeOfFiles } from '../files/cryo-files.ts'
import { CANCELLED } from '../jobs/job-runner.ts'
import { readHistory } from '../jobs/read-history.ts'
import { UsageError } from '../lib/usage-error.ts'
import { print } from '../process/command.ts'
import { withTables } from '../process/deployment.ts'
import { commandLine, type Help, optionsOf, usageOf } from '../process/help.ts'
import { type Run, runProcess } from '../process/run.ts'

const HELP: Help = {
  does: 'Reads a range of final blocks, and stores what was traded in it: in a cluster, beside a running `npm start`, and alone.',
  usage: [
    'npm run backfill -- --network NAME --from-block N --to-block M [--pool ADDRESS_OR_ID]… [--concurrency 1..16] [--max-requests N] [--again]',
    'npm run backfill -- --network NAME --files DIR [--from-block N] [--to-block M] [--pool ADDRESS_OR_ID]… [--again]',
    'npm run backfill -- --network NAME --cancel JOB',
  ],
  options: [
    ['--network NAME', NETWORK_NAMES.join(', ')],
    ['--from-block N', 'the first block'],
    ['--to-block M', 'the last block; it has to be final'],
    [
      '--files DIR',
      'reads logs and headers from Parquet files that `cryo logs` and `cryo blocks` have written, by default all of their blocks',
    ],
    ['--pool ADDRESS_OR_ID', 'only the swaps of this pool; may be repeated'],
    ['--concurrency N', 'ranges that are asked for at once, 1 to 16 (4)'],
    ['--max-requests N', 'stops after about so many requests; what is read stays, and the same command reads the rest'],
    ['--again', 'reads what an earlier backfill has read as well'],
    ['--cancel JOB', 'takes a job back; what it has read stays'],
  ],
  examples: [
    'npm run backfill -- --network ethereum --from-block 18937382 --to-block 18944000',
    'npm run backfill -- --network ethereum --files ./cryo',
  ],
}

const block = (name: string) =>
  z
    .string(`${name} is missing`)
    .regex(/^\d{1,12}$/, `${name} is not a block number`)
    .transform(Number)
const fields = {
  network: z.enum(NETWORK_NAMES, `--network is none of ${NETWORK_NAMES.join(', ')}`),
  'from-block': block('--from-block'),
  'to-block': block('--to-block'),
  pool: z
    .array(
      z
        .string()
        .toLowerCase()
        .regex(/^0x([0-9a-f]{40}|[0-9a-f]{64})$/, '--pool is neither a v3 address nor a v4 id'),
    )
    .optional(),
  concurrency: z.coerce
    .number()
    .int()
    .min(1, '--concurrency is not 1 to 16')
    .max(16, '--concurrency is not 1 to 16')
    .default(4),
  'max-requests': z
    .string()
    .regex(/^[1-9]\d{0,8}$/, '--max-requests is not a number of requests from 1 on')
    .transform(Number)
    .optional(),
  /** Reads ranges again that an earlier job has read. */
  again: z.boolean().default(false),
}
const schema = z.object(fields).refine((it) => it['from-block'] <= it['to-block'], '--from-block is after --to-block')

const filesSchema = z.object({
  ...fields,
  files: z.string().min(1, '--files names no folder'),
  'from-block': fields['from-block'].optional(),
  'to-block': fields['to-block'].optional(),
  'max-requests': z.never('--max-requests bounds what endpoints are asked, and --files asks them little').optional(),
})

const cancelSchema = z.object({
  network: fields.network,
  cancel: z
    .string()
    .regex(/^\d{1,9}$/, asTyped('--cancel is not the number of a job: npm run status lists them'))
    .transform(Number),
})

const request = commandLine(HELP, readRequest)
await runProcess(async (run) => {
  if ('cancel' in request) await cancelBackfill(request, run)
  else if ('files' in request) await readFiles(request, run)
  else await readHistory(request, run)
})

async function readFiles({ files, from, to, ...request }: FilesRequest, run: Run): Promise<void> {
  const folder = await listCryoFiles(files)
  const whole = rangeOfFiles(folder)
  const range = { from: from ?? whole.from, to: to ?? whole.to }
  if (range.from > range.to)
    throw new UsageError(`--files: ${files} has blocks ${whole.from} to ${whole.to}: none of the wanted ones.`)
  await readHistory({ ...request, ...range }, run, folder)
}

async function cancelBackfill({ network, cancel: id }: z.output<typeof cancelSchema>, { deployment }: Run) {
  await withTables(deployment, async ({ owner }) => {
    const job = await readJob(owner, network, id)
    if (job?.kind !== 'backfill' || job.state !== 'open')
      throw new UsageError(asTyped(`${network} has no open backfill ${id}: npm run status lists the jobs.`))
    await failJob(owner, job, CANCELLED)
    print(`Job ${id} of ${network} is taken back. What it has read stays.`)
  })
}

/** Without a range, all blocks of the files. */
type FilesRequest = Omit<JobRequest, 'from' | 'to'> & {
  files: string
  from: number | undefined
  to: number | undefined
}

function readRequest(): JobRequest | FilesRequest | z.output<typeof cancelSchema> {
  const options = {
    network: { type: 'string' },
    'from-block': { type: 'string' },
    'to-block': { type: 'string' },
    files: { type: 'string' },
    pool: { type: 'string', multiple: true },
    concurrency: { type: 'string' },
    'max-requests': { type: 'string' },
    again: { type: 'boolean' },
    cancel: { type: 'string' },
  } as const
  try {
    const values = optionsOf(HELP, options)
    if (values.cancel !== undefined) return cancelSchema.parse(values)
    if (values.files === undefined) {
      const { 'from-block': from, 'to-block': to, ...rest } = schema.parse(values)
      return { ...requestOf(rest), from, to }
    }
    const { files, 'from-block': from, 'to-block': to, ...rest } = filesSchema.parse(values)
    return { ...requestOf(rest), files, from, to }
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error
    throw new UsageError([...error.issues.map((issue) => issue.message), usageOf(HELP)].join('\n'))
  }
}

function requestOf(it: Omit<z.output<typeof schema>, 'from-block' | 'to-block'>) {
  const { network, pool, concurrency, again, 'max-requests': maxRequests } = it
  return { network, pools: pool as PoolId[] | undefined, concurrency, maxRequests, again }
}
