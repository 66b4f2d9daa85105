/** Progress of a backfill: a bar on a terminal, plain lines elsewhere. */
import { unreadRanges } from '../../aggregator/history/coverage.ts'
import type { Job } from '../../aggregator/jobs/job.ts'
import { ask } from '../../aggregator/store/store.ts'
import type { Estimate } from '../../ingest/backfill/estimate.ts'
import type { Store } from '../clickhouse/store.ts'

export type Progress = { blocks: number; ticks: number }

/** Blocks of the job's range that are complete, and the ticks that this job has stored. */
export async function readProgress({ owner }: Store, job: Job): Promise<Progress> {
  const { network, id, from, to } = job
  const gaps = await unreadRanges(owner, job)
  const missing = gaps.reduce((sum, gap) => sum + gap.to - gap.from + 1, 0)
  const [row] = await ask<{ brought: string }>(
    owner,
    'SELECT toString(sum(ticks)) AS brought FROM coverage FINAL WHERE network = {network:String} AND job = {id:UInt32}',
    { network, id },
  )
  return { blocks: to - from + 1 - missing, ticks: Number(row?.brought ?? 0) }
}

const BAR_CELLS = 30

/** `share`: 0 to 1. */
export function barOf(share: number): string {
  return '█'.repeat(Math.floor(share * BAR_CELLS)).padEnd(BAR_CELLS, '░')
}

/** `start`: blocks that were stored before the job began: they count as done, but not as speed. */
export function progressLine(total: number, start: Progress, now: Progress, seconds: number): string {
  const share = now.blocks / total
  const blocksPerSecond = (now.blocks - start.blocks) / Math.max(seconds, 0.001)
  const ticksPerSecond = (now.ticks - start.ticks) / Math.max(seconds, 0.001)
  const left = now.blocks === total ? 'done' : `${durationOf((total - now.blocks) / blocksPerSecond)} left`
  const percent = (share * 100).toFixed(1)
  const counts = `${now.blocks.toLocaleString('en')} of ${total.toLocaleString('en')} blocks`
  return `${barOf(share)} ${percent} %  ${counts}  ${rate(blocksPerSecond)} blocks/s  ${rate(ticksPerSecond)} ticks/s  ${left}`
}

function rate(perSecond: number): string {
  return Math.round(perSecond).toLocaleString('en')
}

/** `about 12,300 requests, 41 minutes`: the sample allows no more digits. */
export function estimateText({ requests, seconds }: Estimate): string {
  return `about ${counted(Number(requests.toPrecision(3)), 'request')}, ${roughly(seconds)}`
}

function roughly(seconds: number): string {
  if (seconds < 90) return counted(Math.max(1, Math.round(seconds)), 'second')
  if (seconds < 90 * 60) return counted(Math.round(seconds / 60), 'minute')
  if (seconds < 48 * 3_600) return counted(Math.round(seconds / 3_600), 'hour')
  return counted(Math.round(seconds / 86_400), 'day')
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

export function durationOf(seconds: number): string {
  if (!Number.isFinite(seconds)) return 'unknown time'
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)]
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.ceil(seconds)} s`
}
