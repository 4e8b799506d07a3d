// The pool and the supervisors of Ergo's demonstrations, and a process that prints what they do.
// Recorded in ergo.trace with Ergo 3.1.0.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"ergo.services/ergo"
	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
)

// A worker of the pool.
type worker struct {
	act.Actor
}

func newWorker() gen.ProcessBehavior { return &worker{} }

func (w *worker) HandleMessage(from gen.PID, message any) error {
	switch m := message.(type) {
	case string:
		return errors.New(m)
	case chan struct{}:
		<-m
	}
	return nil
}

func (w *worker) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	return w.PID(), nil
}

// The pool.
type pool struct {
	act.Pool
	workers int64
	mailbox int64
}

func (p *pool) Init(args ...any) (act.PoolOptions, error) {
	options := act.PoolOptions{
		WorkerFactory:     newWorker,
		PoolSize:          p.workers,
		WorkerMailboxSize: p.mailbox,
	}
	return options, nil
}

// What is sent with a higher priority is for the pool itself.
func (p *pool) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	number, isNumber := request.(int)
	if !isNumber {
		return "pong", nil
	}
	var size int64
	var err error
	if number > 0 {
		size, err = p.AddWorkers(number)
	} else {
		size, err = p.RemoveWorkers(-number)
	}
	if err != nil {
		return err.Error(), nil
	}
	return fmt.Sprint(size), nil
}

// A child of a supervisor.
type child struct {
	act.Actor
	name string
}

func newChild() gen.ProcessBehavior { return &child{} }

func (c *child) Init(args ...any) error {
	c.name = args[0].(string)
	return nil
}

func (c *child) HandleMessage(from gen.PID, message any) error {
	if message == "normal" {
		return gen.TerminateReasonNormal
	}
	return errors.New(message.(string))
}

func (c *child) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	return c.name, nil
}

// A supervisor: transient children, at most two restarts in five seconds.
type sup struct {
	act.Supervisor
	kind  act.SupervisorType
	names []gen.Atom
	stays bool
}

func (s *sup) Init(args ...any) (act.SupervisorSpec, error) {
	spec := act.SupervisorSpec{Type: s.kind, DisableAutoShutdown: s.stays}
	spec.Restart.Strategy = act.SupervisorStrategyTransient
	spec.Restart.Intensity = 2
	spec.Restart.Period = 5
	for _, name := range s.names {
		child := act.SupervisorChildSpec{Name: name, Factory: newChild, Args: []any{"(of the spec)"}}
		spec.Children = append(spec.Children, child)
	}
	return spec, nil
}

// Only the supervisor itself can start a child, or list them.
func (s *sup) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	if name, isName := request.(string); isName {
		return "started", s.StartChild("job", name)
	}
	return s.Children(), nil
}

// The process that does all this, and prints it.
type driver struct {
	act.Actor
	seen  map[gen.PID]string
	count int
}

func (d *driver) Init(args ...any) error {
	d.seen = map[gen.PID]string{}
	return d.Send(d.PID(), "run")
}

func (d *driver) HandleMessage(from gen.PID, message any) error {
	d.workers()
	d.supervisors("one for one", act.SupervisorTypeOneForOne)
	d.supervisors("all for one", act.SupervisorTypeAllForOne)
	d.supervisors("rest for one", act.SupervisorTypeRestForOne)
	d.jobs()
	os.Exit(0)
	return nil
}

func say(line string, answer string) { fmt.Printf("> %s\n  %s\n", line, answer) }

// Waits until everything has settled.
func settle() { time.Sleep(200 * time.Millisecond) }

func (d *driver) who(times int) string {
	var all []string
	for i := 0; i < times; i++ {
		answer, err := d.Call(gen.Atom("mypool"), "who")
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		pid := answer.(gen.PID)
		if d.seen[pid] == "" {
			d.seen[pid] = fmt.Sprintf("w%d", len(d.seen)+1)
		}
		all = append(all, d.seen[pid])
	}
	return strings.Join(all, " ")
}

func (d *driver) own(request any) string {
	answer, err := d.CallWithPriority(gen.Atom("mypool"), request, gen.MessagePriorityHigh)
	if err != nil {
		return err.Error()
	}
	settle()
	return answer.(string)
}

func (d *driver) workers() {
	three := func() gen.ProcessBehavior { return &pool{workers: 3} }
	mypool, _ := d.SpawnRegister("mypool", three, gen.ProcessOptions{})
	say("who 6", d.who(6))
	d.Send(gen.Atom("mypool"), "boom")
	settle()
	say("fail, who 6", d.who(6))
	items, _ := d.Inspect(mypool)
	say("inspect", fmt.Sprintf("size %s restarts %s", items["pool_size"], items["worker_restarts"]))
	say("add 2", d.own(2))
	say("who 5", d.who(5))
	say("remove 2", d.own(-2))
	say("who 6", d.who(6))
	say("ping", d.own("ping"))
	say("remove 5", d.own(-5))
	say("who 1", d.who(1))

	one := func() gen.ProcessBehavior { return &pool{workers: 1, mailbox: 1} }
	small, _ := d.SpawnRegister("small", one, gen.ProcessOptions{})
	never := make(chan struct{})
	for i := 0; i < 3; i++ {
		answer := "accepted"
		if err := d.Send(gen.Atom("small"), never); err != nil {
			answer = "refused"
		}
		settle()
		say("send to 1 worker, mailbox 1", answer)
	}
	items, _ = d.Inspect(small)
	say("inspect", fmt.Sprintf("forwarded %s unhandled %s", items["messages_forwarded"], items["messages_unhandled"]))
}

func (d *driver) supervisors(name string, kind act.SupervisorType) {
	fmt.Println("> " + name)
	d.watch(kind, true, "fail b", "fail a", "fail c")
	fmt.Println("> " + name)
	d.watch(kind, true, "normal b", "fail a")
	fmt.Println("> " + name + ", with automatic shutdown")
	d.watch(kind, false, "normal a", "normal b", "normal c")
}

// Ends children one after the other, and says what has changed.
func (d *driver) watch(kind act.SupervisorType, stays bool, ends ...string) {
	d.count++
	var names []gen.Atom
	for _, name := range []string{"a", "b", "c"} {
		names = append(names, gen.Atom(fmt.Sprint(name, d.count)))
	}
	make := func() gen.ProcessBehavior { return &sup{kind: kind, names: names, stays: stays} }
	s, _ := d.Spawn(make, gen.ProcessOptions{})
	for _, end := range ends {
		how, name, _ := strings.Cut(end, " ")
		before := d.children(s)
		d.Send(before[name], how)
		settle()
		after := d.children(s)
		if after == nil {
			say(end, "the supervisor has ended")
			continue
		}
		var changes []string
		for _, name := range []string{"a", "b", "c"} {
			if after[name] == (gen.PID{}) {
				changes = append(changes, "no "+name)
			} else if after[name] != before[name] {
				changes = append(changes, "new "+name)
			}
		}
		say(end, strings.Join(changes, ", "))
	}
}

func (d *driver) children(s gen.PID) map[string]gen.PID {
	list, err := d.Call(s, 0)
	if err != nil {
		return nil
	}
	all := map[string]gen.PID{}
	for _, child := range list.([]act.SupervisorChild) {
		all[string(child.Spec[:1])] = child.PID
	}
	return all
}

func (d *driver) jobs() {
	make := func() gen.ProcessBehavior {
		return &sup{kind: act.SupervisorTypeSimpleOneForOne, names: []gen.Atom{"job"}, stays: true}
	}
	s, _ := d.Spawn(make, gen.ProcessOptions{})
	for _, name := range []string{"one", "two", "three"} {
		d.CallWithTimeout(s, name, 1)
	}
	say("simple one for one", d.names(s, "", ""))
	say("fail two", d.names(s, "two", "fail"))
	say("normal three", d.names(s, "three", "normal"))
}

// Ends a job, and returns the names of those that are there.
func (d *driver) names(s gen.PID, which string, how string) string {
	list, _ := d.Call(s, 0)
	for _, child := range list.([]act.SupervisorChild) {
		if name, _ := d.Call(child.PID, "name"); name == which {
			d.Send(child.PID, how)
		}
	}
	settle()
	var names []string
	list, _ = d.Call(s, 0)
	for _, child := range list.([]act.SupervisorChild) {
		name, _ := d.Call(child.PID, "name")
		names = append(names, name.(string))
	}
	return strings.Join(names, " ")
}

func main() {
	var options gen.NodeOptions
	options.Network.Mode = gen.NetworkModeDisabled
	options.Log.Level = gen.LogLevelDisabled
	node, err := ergo.StartNode("demo@localhost", options)
	if err != nil {
		panic(err)
	}
	node.Spawn(func() gen.ProcessBehavior { return &driver{} }, gen.ProcessOptions{})
	node.Wait()
}
