package control

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ninepocket/access/keys"
)

// PlanChange is a change of a plan in the database.
type PlanChange struct {
	At   time.Time
	Name string
	Plan *keys.Plan // nil = removed
}

// PlanChanges returns all changes of plans, the oldest first.
func (db *DB) PlanChanges(ctx context.Context) (all []PlanChange, err error) {
	var change PlanChange
	add := func() {
		all = append(all, change)
		change.Plan = nil
	}
	err = db.each(ctx, db.timeout, []any{&change.At, &change.Name, &change.Plan}, add,
		"select changed_at, name, record from ninepocket.plans order by number")
	return all, err
}

// PlansAfter returns the plans after some changes.
func PlansAfter(changes []PlanChange) keys.Plans {
	plans := keys.Plans{}
	for _, change := range changes {
		plans[change.Name] = change.Plan
	}
	maps.DeleteFunc(plans, func(_ string, plan *keys.Plan) bool { return plan == nil })
	return plans
}

// ChangePlans sets plans, or removes those that are nil.
func (db *DB) ChangePlans(ctx context.Context, changed keys.Plans) error {
	var batch pgx.Batch
	for _, name := range changed.Names() {
		batch.Queue("insert into ninepocket.plans (name, record) values ($1, $2)", name, changed[name])
	}
	return db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return tx.SendBatch(ctx, &batch).Close() })
}

// checkPlans returns what is wrong with plans: servers whose limits differ or that cannot say theirs, and plans
// that stand in files alone.
func (db *DB) checkPlans(ctx context.Context) (all []Finding, err error) {
	var text string
	add := func() {
		problem, command, _ := strings.Cut(text, "; run: ")
		all = append(all, Finding{"plans", false, problem, command})
	}
	err = db.each(ctx, db.timeout, []any{&text}, add, "select ninepocket.plan_problems($1)", SilenceThreshold)
	if err == nil && len(all) == 0 {
		all = []Finding{{"plans", true, "plans stand in the database, and are the same at all servers", ""}}
	}
	return all, err
}
