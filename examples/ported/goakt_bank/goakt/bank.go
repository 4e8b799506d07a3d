// A bank on GoAkt's API, written for the comparison with its port to Krarup.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tochemey/goakt/v4/actor"
	"github.com/tochemey/goakt/v4/passivation"
	"github.com/tochemey/goakt/v4/supervisor"
)

type (
	deposit  struct{ amount int }
	withdraw struct{ amount int }
	balance  struct{}
	interest struct{}
	loaded   struct{ balance int }

	read  struct{ account string }
	write struct {
		account string
		balance int
	}
	audited struct{}
	howMany struct{}
	audit   struct{ amount int }
	open    struct{ account string }
)

// ledger keeps the balances of accounts that are not in memory, and is slow.
type ledger struct {
	balances map[string]int
	audited  int
}

func (l *ledger) PreStart(*actor.Context) error {
	l.balances = map[string]int{}
	return nil
}

func (l *ledger) PostStop(*actor.Context) error { return nil }

func (l *ledger) Receive(ctx *actor.ReceiveContext) {
	switch m := ctx.Message().(type) {
	case *actor.PostStart:
	case *read:
		time.Sleep(20 * time.Millisecond)
		ctx.Response(l.balances[m.account])
	case *write:
		l.balances[m.account] = m.balance
		ctx.Response(true)
	case *audited:
		l.audited++
	case *howMany:
		ctx.Response(l.audited)
	default:
		ctx.Unhandled()
	}
}

// auditor looks at large deposits.
type auditor struct{}

func (*auditor) PreStart(*actor.Context) error { return nil }
func (*auditor) PostStop(*actor.Context) error { return nil }

func (*auditor) Receive(ctx *actor.ReceiveContext) {
	switch m := ctx.Message().(type) {
	case *actor.PostStart:
	case *audit:
		if m.amount == 6666 {
			ctx.Err(errors.New("a forged deposit"))
			return
		}
		ctx.SendAsync("ledger", &audited{})
	default:
		ctx.Unhandled()
	}
}

// account loads its balance, serves, and ends when nobody needs it.
type account struct {
	name     string
	balance  int
	ready    bool
	ledger   *actor.PID
	auditors *actor.PID
}

func (a *account) PreStart(ctx *actor.Context) error {
	a.name, a.balance, a.ready = ctx.ActorName(), 0, false
	var err error
	if a.ledger, err = ctx.ActorSystem().ActorOf(ctx.Context(), "ledger"); err != nil {
		return err
	}
	a.auditors, err = ctx.ActorSystem().ActorOf(ctx.Context(), "auditors")
	return err
}

func (a *account) PostStop(ctx *actor.Context) error {
	if !a.ready {
		return nil
	}
	_, err := actor.Ask(ctx.Context(), a.ledger, &write{a.name, a.balance}, time.Second)
	return err
}

func (a *account) Receive(ctx *actor.ReceiveContext) {
	switch m := ctx.Message().(type) {
	case *actor.PostStart:
		name, ledger := a.name, a.ledger
		ctx.PipeTo(ctx.Self(), func() (any, error) {
			found, err := actor.Ask(context.Background(), ledger, &read{name}, time.Second)
			if err != nil {
				return nil, err
			}
			return &loaded{found.(int)}, nil
		})
	case *loaded:
		a.balance, a.ready = m.balance, true
		ctx.Become(a.serve)
		ctx.UnstashAll()
	default:
		ctx.Stash()
	}
}

func (a *account) serve(ctx *actor.ReceiveContext) {
	switch m := ctx.Message().(type) {
	case *deposit:
		if m.amount < 0 {
			ctx.Err(errors.New("a negative deposit"))
			return
		}
		a.balance += m.amount
		if m.amount >= 1000 {
			ctx.Tell(a.auditors, actor.NewBroadcast(&audit{m.amount}))
		}
	case *withdraw:
		enough := m.amount <= a.balance
		if enough {
			a.balance -= m.amount
		}
		ctx.Response(enough)
	case *balance:
		ctx.Response(a.balance)
	case *interest:
		a.balance += a.balance / 10
	default:
		ctx.Unhandled()
	}
}

// teller opens accounts, and is their parent.
type teller struct{}

func (*teller) PreStart(*actor.Context) error { return nil }
func (*teller) PostStop(*actor.Context) error { return nil }

func (*teller) Receive(ctx *actor.ReceiveContext) {
	switch m := ctx.Message().(type) {
	case *actor.PostStart:
	case *open:
		restart := supervisor.NewSupervisor(
			supervisor.WithAnyErrorDirective(supervisor.RestartDirective),
			supervisor.WithRetry(3, 10*time.Second))
		// One that runs is returned as it is.
		ctx.Response(ctx.Spawn(m.account, &account{},
			actor.WithStashing(),
			actor.WithSupervisor(restart),
			actor.WithPassivationStrategy(passivation.NewTimeBasedStrategy(150*time.Second))))
	case *interest:
		for _, child := range ctx.Children() {
			ctx.Tell(child, m)
		}
	default:
		ctx.Unhandled()
	}
}

func main() {
	ctx := context.Background()
	system, err := actor.NewActorSystem("bank", actor.WithLoggingDisabled())
	must(err)
	must(system.Start(ctx))
	_, err = system.Spawn(ctx, "ledger", &ledger{}, actor.WithLongLived())
	must(err)
	_, err = system.SpawnRouter(ctx, "auditors", 3, &auditor{},
		actor.WithRoutingStrategy(actor.RoundRobinRouting),
		actor.WithRestartRouteeOnFailure(3, time.Second))
	must(err)
	bank, err := system.Spawn(ctx, "teller", &teller{}, actor.WithLongLived())
	must(err)
	must(system.Schedule(ctx, &interest{}, bank, time.Minute, actor.WithReference("interest")))

	ask := func(to *actor.PID, message any) any {
		answer, err := actor.Ask(ctx, to, message, time.Second)
		must(err)
		return answer
	}
	at := func(name string) *actor.PID { return ask(bank, &open{name}).(*actor.PID) }
	say := func(what string, came any) { fmt.Printf("> %s\n  %v\n", what, came) }
	put := func(name string, amounts ...int) {
		to := at(name)
		for _, amount := range amounts {
			must(actor.Tell(ctx, to, &deposit{amount}))
		}
		time.Sleep(time.Second)
		fmt.Printf("> deposit %v for %s\n", amounts, name)
	}

	put("ann", 100, 20)
	say("balance of ann", ask(at("ann"), &balance{}))
	say("withdraw 30 of ann", ask(at("ann"), &withdraw{30}))
	say("withdraw 500 of ann", ask(at("ann"), &withdraw{500}))
	time.Sleep(time.Minute)
	say("balance of ann", ask(at("ann"), &balance{}))
	must(system.PauseSchedule("interest"))
	time.Sleep(151 * time.Second)
	say("balance of ann", ask(at("ann"), &balance{}))
	put("ann", 1, -5, 11, 20)
	say("balance of ann", ask(at("ann"), &balance{}))
	put("bob", 1000, 2000, 3000, 4000, 6666)
	say("balance of bob", ask(at("bob"), &balance{}))
	ledger, err := system.ActorOf(ctx, "ledger")
	must(err)
	say("audited", ask(ledger, &howMany{}))
	must(system.ResumeSchedule("interest"))
	time.Sleep(time.Minute)
	say("balance of ann", ask(at("ann"), &balance{}))
	must(system.Stop(ctx))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
