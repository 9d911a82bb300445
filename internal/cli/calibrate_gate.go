package cli

import (
	"context"
	"errors"
	"fmt"
	"math"

	"pawl/internal/calibrate"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// runGate tries the gate, and shows the resulting curve.
func runGate(ctx context.Context, e *env, opts *calibrateOptions, live *follower) error {
	var err error
	if opts.Gate, err = calibrate.ProjectGate(); err != nil {
		return err
	}
	opts.Folder = calibrate.Folder()
	if opts.effect > 0 {
		duet, err := calibrate.Duet(ctx, opts.GateOptions)
		live.done()
		if err != nil {
			return err
		}
		return showPower(e, opts, opts.effect, []calibrate.Power{calibrate.PowerOfDuet("this machine, pawl's own kernel", duet.Cells, opts.effect)})
	}
	made, complete, err := calibrate.Gate(ctx, opts.GateOptions)
	live.done()
	interrupted := errors.Is(err, context.Canceled)
	if err != nil && !interrupted {
		return err
	}
	if interrupted && (made == nil || made.Decisions() == 0) {
		return &outcomeError{exitInterrupted, "interrupted before anything was decided"}
	}
	if showErr := showCurve(e, opts, made, complete); showErr != nil {
		return fmt.Errorf("print the calibration: %w", showErr)
	}
	if interrupted {
		return &outcomeError{exitInterrupted, "interrupted: the decisions so far are kept; the next call continues"}
	}
	return nil
}

func showCurve(e *env, opts *calibrateOptions, c *calibrate.Curve, complete bool) error {
	if opts.json {
		return printJSON(e, c)
	}
	style := e.style()
	fmt.Fprintf(e.stdout, "pawl %s · %s · the gate at %s\n\n", version, c.Device, unit.PercentPlain(c.Gate.Regression))
	table := e.table(
		left("kernel"), right("slower by"), ranked(1, right("actual")), ranked(1, left("")), right("decisions"), right("sets"), right("failed"), right("rate"), left("95% bound"), ranked(2, right("undecided")),
	)
	for _, l := range c.Levels {
		if len(l.Decisions) > 0 {
			table.AddCells(levelCells(c, l, style)...)
		}
	}
	fmt.Fprint(e.stdout, table)
	decisions := c.Decisions()
	if decisions == 0 {
		return nil
	}
	e.print("\n  %s a decision; decisions of one set of cells are correlated, so the bounds count them as fewer", unit.Duration(c.Seconds/float64(decisions)))
	if alarms := c.Alarms(10); alarms != nil {
		e.print("\n  false alarms, of %s: ≤ %.2f%% of rows, so ≤ %.1f%% of runs with ten rows (one-sided 95%% bounds)", alarms.Kernel, 100*alarms.PerDecision, 100*alarms.PerRun)
	}
	if text := prospects(c, complete); text != "" {
		e.print("\n  %s", text)
	}
	e.print("\n  calibration: %s", relative(calibrate.Path(c)))
	_, err := fmt.Fprintln(e.stdout)
	return err
}

// prospects says what more calls would bring: nothing where the curve is complete. Of a curve that no
// check cites it says how long one that is cited takes; "" of others.
func prospects(c *calibrate.Curve, complete bool) string {
	const rows = 10
	alarms := c.Alarms(rows)
	cited := alarms != nil && alarms.PerRun <= calibrate.Telling
	switch {
	case complete:
		text := fmt.Sprintf("complete: all %s decisions of method %d at a gate of %s are made, and another call adds none", unit.Count(c.Decisions()), c.Method, unit.PercentPlain(c.Gate.Regression))
		if !cited {
			text += fmt.Sprintf("; checks do not cite it, since their bound is at most %s of runs: a quieter machine may reach that", unit.PercentPlain(calibrate.Telling))
		}
		return text + "; pawl calibrate --fresh discards it and begins anew"
	case cited:
		return ""
	}
	return "this is too little: " + c.Lacking(rows)
}

// levelCells returns a level's line of the table.
func levelCells(c *calibrate.Curve, l *calibrate.Level, style term.Style) []term.Cell {
	name, truth, interval := l.Kernel, "", ""
	if l.Behind {
		name += ", behind best"
	}
	if median, half := l.Truth(); !math.IsNaN(median) && half < 1 {
		truth, interval = unit.Percent(median), fmt.Sprintf("± %s", unit.PercentPlain(half))
	}
	bound := fmt.Sprintf("≤ %.2f%%", 100*l.FailBound())
	if l.Nominal > c.Gate.Regression {
		bound = fmt.Sprintf("≥ %.2f%%", 100*(1-l.PassBound()))
	}
	return []term.Cell{
		{Text: name, Style: style.Bold},
		{Text: unit.PercentPlain(l.Nominal)},
		{Text: truth},
		{Text: interval, Style: style.Dim},
		{Text: unit.Count(len(l.Decisions))},
		{Text: unit.Count(l.Sets())},
		{Text: unit.Count(l.Failed())},
		{Text: fmt.Sprintf("%.1f%%", 100*float64(l.Failed())/float64(len(l.Decisions)))},
		{Text: bound},
		{Text: unit.Count(l.Undecided())},
	}
}

// percentage reads 3% or 0.03.
func percentage(text string) (float64, error) {
	v, err := unit.ParsePercent(text)
	if err != nil || !(v > 0 && v < 1) {
		return 0, usage("--power %s: expected a change such as 3%%", text)
	}
	return v, nil
}

func showPower(e *env, opts *calibrateOptions, effect float64, rows []calibrate.Power) error {
	if opts.json {
		return printJSON(e, rows)
	}
	style := e.style()
	fmt.Fprintf(e.stdout, "to detect a change of %s in 95 of 100 cases, at the 5%% level:\n\n", unit.PercentPlain(effect))
	table := e.table(left("kernel/config"), right("needs"), left(""), right("noise"), left(""))
	for _, p := range rows {
		what, of := "samples per side, unpaired", "of a sample"
		if p.Duet {
			what, of = "cells of a duet", "between cells"
		}
		table.AddCells(term.Cell{Text: p.Name, Style: style.Bold}, term.Cell{Text: unit.Count(p.Need)}, term.Cell{Text: what},
			term.Cell{Text: unit.PercentPlain(p.Noise)}, term.Cell{Text: of, Style: style.Dim})
	}
	_, err := fmt.Fprint(e.stdout, table)
	return err
}
