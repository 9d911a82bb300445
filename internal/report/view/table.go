package view

// Table is rows of cells below heads.
type Table struct {
	Look    string // how a page shows it: results, sheet, cases, overall
	Empty   string // what a page says when it has no rows
	Columns []Column
	Rows    []Row
}

// Column is what the cells of a column have in common.
type Column struct {
	Head   string
	Number bool // aligned as one
	Badge  bool // what rows came to
	Chars  int  // that a terminal has room for; 0: any number
	Bytes  int  // that a comment has room for; 0: pawl's own words, few and harmless
}

// Row is a line of a table.
type Row struct {
	Cells []Cell
	Sub   bool   // what the row above was measured against
	Note  string // stands below it on a page
	Items []Item // what explains it
}

// Cell is one place of a table.
type Cell struct {
	Text string
	Rest string // what follows with less weight, such as an interval
	Tone Tone

	Parts []string // of the text, where a terminal may shorten each
	Most  int      // characters that a terminal has room for, where the column does not say it
}
