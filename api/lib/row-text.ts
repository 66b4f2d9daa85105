/** Rows as CSV and as NDJSON, by media type. */

/** null: an empty cell of CSV. */
type Cell = string | number | null
export type TextRow = Readonly<Record<string, Cell>>

export const ROW_FORMS = {
  'text/csv': { type: 'text/csv; charset=utf-8; header=present', write: csvOf },
  'application/x-ndjson': { type: 'application/x-ndjson; charset=utf-8', write: ndjsonOf },
} as const
export type RowForm = keyof typeof ROW_FORMS

export function isRowForm(type: string | false): type is RowForm {
  return type !== false && type in ROW_FORMS
}

/** RFC 4180, with a header line, which an empty answer has too. */
function csvOf(rows: readonly TextRow[], columns: readonly string[]): string {
  return [columns, ...rows.map((row) => columns.map((column) => csvCell(row[column] ?? '')))]
    .map((cells) => `${cells.join()}\r\n`)
    .join('')
}

/** Spreadsheets take a text for a formula where it begins so and is no number, and a symbol is a text of its token's contract. */
export const FORMULA = /^[=+@\t\r]|^-.*[^0-9.]/s

export function csvCell(value: string | number): string {
  const text = String(value)
  const shown = typeof value === 'string' && FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown
}

function ndjsonOf(rows: readonly TextRow[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}
