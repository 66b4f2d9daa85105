/// <reference lib="dom" />
/** The loaded candles as a CSV file with the columns of the API. */
import { type ChartCandle, COLUMNS } from './candles.ts'

/** Numbers are whole, in the direction of the chart. */
export function candlesCsv(rows: readonly ChartCandle[]): string {
  const lines = rows.map((row) => {
    const time = new Date(row.time * 1_000).toISOString().replace('.000Z', 'Z')
    return COLUMNS.map((column) => (column === 'time' ? time : row[column])).join()
  })
  return `${[COLUMNS.join(), ...lines].join('\r\n')}\r\n`
}

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
