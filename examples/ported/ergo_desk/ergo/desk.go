// A desk that takes orders over TCP, written for the comparison in docs/porting/ergo_desk.md.
//
//	go mod init desk && go get ergo.services/ergo@v1.999.310 && go run . > ergo.trace
package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"ergo.services/ergo"
	"ergo.services/ergo/act"
	"ergo.services/ergo/gen"
	"ergo.services/ergo/meta"
)

const port = 12345

// The application

type desk struct{}

func (d *desk) Load(node gen.Node, args ...any) (gen.ApplicationSpec, error) {
	return gen.ApplicationSpec{
		Name:  "desk",
		Mode:  gen.ApplicationModeTransient,
		Group: []gen.ApplicationMemberSpec{{Name: "desk_sup", Factory: newSup}},
	}, nil
}

func (d *desk) Start(mode gen.ApplicationMode) {}
func (d *desk) Terminate(reason error)         {}

type sup struct{ act.Supervisor }

func newSup() gen.ProcessBehavior { return &sup{} }

func (s *sup) Init(args ...any) (act.SupervisorSpec, error) {
	var spec act.SupervisorSpec
	spec.Type = act.SupervisorTypeOneForOne
	spec.Restart.Strategy = act.SupervisorStrategyTransient
	spec.Restart.Intensity = 5
	spec.Restart.Period = 5
	spec.Children = []act.SupervisorChildSpec{
		{Name: "board", Factory: newBoard},
		{Name: "listener", Factory: newListener},
		{Name: "makers", Factory: newMakers},
		{Name: "front", Factory: newFront},
	}
	return spec, nil
}

// The board publishes once a second how many orders there were, while somebody listens.

type order struct{ product string }
type tick struct{}
type begin struct{}

type board struct {
	act.Actor
	token  gen.Ref
	cancel gen.CancelFunc
	orders int
}

func newBoard() gen.ProcessBehavior { return &board{} }

func (b *board) Init(args ...any) error {
	// An event cannot be registered here.
	return b.Send(b.PID(), begin{})
}

func (b *board) HandleMessage(from gen.PID, message any) error {
	switch message.(type) {
	case begin:
		token, err := b.RegisterEvent("orders", gen.EventOptions{Notify: true})
		if err != nil {
			return err
		}
		b.token = token
	case gen.MessageEventStart:
		b.silence()
		return b.Send(b.PID(), tick{})
	case gen.MessageEventStop:
		b.silence()
	case tick:
		if err := b.SendEvent("orders", b.token, b.orders); err != nil {
			return err
		}
		cancel, err := b.SendAfter(b.PID(), tick{}, time.Second)
		b.cancel = cancel
		return err
	case order:
		b.orders++
	}
	return nil
}

func (b *board) silence() {
	if b.cancel != nil {
		b.cancel()
		b.cancel = nil
	}
}

func (b *board) HandleInspect(from gen.PID, item ...string) map[string]string {
	return map[string]string{"orders": fmt.Sprint(b.orders)}
}

// The listener remembers what the board says, and comes back when the board does.

type listener struct {
	act.Actor
	heard []string
}

func newListener() gen.ProcessBehavior { return &listener{} }

func (l *listener) Init(args ...any) error {
	// An event cannot be monitored here.
	return l.Send(l.PID(), begin{})
}

func (l *listener) HandleMessage(from gen.PID, message any) error {
	switch message.(type) {
	case begin:
		event := gen.Event{Name: "orders", Node: l.Node().Name()}
		// Without this a second MonitorEvent is refused, though the first event has ended. Of the first it is an error.
		_ = l.DemonitorEvent(event)
		if _, err := l.MonitorEvent(event); err != nil {
			_, err := l.SendAfter(l.PID(), begin{}, 100*time.Millisecond)
			return err
		}
	case gen.MessageDownEvent:
		l.heard = append(l.heard, "down")
		_, err := l.SendAfter(l.PID(), begin{}, 100*time.Millisecond)
		return err
	}
	return nil
}

func (l *listener) HandleEvent(message gen.MessageEvent) error {
	l.heard = append(l.heard, fmt.Sprint(message.Message))
	return nil
}

func (l *listener) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	heard := strings.Join(l.heard, " ")
	l.heard = nil
	return heard, nil
}

// The makers

type makers struct{ act.Pool }

func newMakers() gen.ProcessBehavior { return &makers{} }

func (m *makers) Init(args ...any) (act.PoolOptions, error) {
	return act.PoolOptions{WorkerFactory: newMaker, PoolSize: 3}, nil
}

type maker struct {
	act.Actor
	made int
}

func newMaker() gen.ProcessBehavior { return &maker{} }

func (m *maker) HandleCall(from gen.PID, ref gen.Ref, request any) (any, error) {
	product := request.(order).product
	if product == "smoke" {
		return nil, errors.New("on fire")
	}
	m.made++
	return fmt.Sprintf("%s, the maker's number %d", product, m.made), nil
}

// The front: a line of a client is an order.

type front struct{ act.Actor }

func newFront() gen.ProcessBehavior { return &front{} }

func (f *front) Init(args ...any) error {
	options := meta.TCPServerOptions{Host: "localhost", Port: port}
	server, err := meta.CreateTCPServer(options)
	if err != nil {
		return err
	}
	if _, err := f.SpawnMeta(server, gen.MetaOptions{}); err != nil {
		server.Terminate(err)
		return err
	}
	return nil
}

func (f *front) HandleMessage(from gen.PID, message any) error {
	m, ok := message.(meta.MessageTCP)
	if ok == false {
		return nil
	}
	// A packet is a line as long as clients send one and wait.
	m.Data = []byte(f.answer(strings.TrimSpace(string(m.Data))) + "\n")
	return f.SendAlias(m.ID, m)
}

func (f *front) answer(line string) string {
	if strings.HasPrefix(line, "make ") == false {
		return "what?"
	}
	product := strings.TrimPrefix(line, "make ")
	made, err := f.CallWithTimeout(gen.Atom("makers"), order{product}, 1)
	if err != nil {
		return "failed: " + err.Error()
	}
	if err := f.Send(gen.Atom("board"), order{product}); err != nil {
		return "not counted: " + err.Error()
	}
	return made.(string)
}

// What is done with it

type asker struct{ act.Actor }

func newAsker() gen.ProcessBehavior { return &asker{} }

type ask struct{ answer chan string }

func (a *asker) HandleMessage(from gen.PID, message any) error {
	heard, err := a.Call(gen.Atom("listener"), "heard")
	if err != nil {
		return err
	}
	list, _ := a.Node().ProcessList()
	orders := ""
	for _, pid := range list {
		if info, _ := a.Node().ProcessInfo(pid); info.Name == "board" {
			items, err := a.Inspect(pid)
			if err != nil {
				return err
			}
			orders = items["orders"]
		}
	}
	message.(ask).answer <- fmt.Sprintf("heard %s; orders %s", heard, orders)
	return nil
}

func main() {
	var options gen.NodeOptions
	options.Applications = []gen.ApplicationBehavior{&desk{}}
	options.Log.Level = gen.LogLevelDisabled
	options.Network.Mode = gen.NetworkModeDisabled
	node, err := ergo.StartNode("desk@localhost", options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	askerPID, _ := node.Spawn(newAsker, gen.ProcessOptions{})
	look := func() {
		question := ask{make(chan string)}
		node.Send(askerPID, question)
		fmt.Println("> look\n  " + <-question.answer)
	}
	kill := func(name gen.Atom) {
		fmt.Println("> kill", name)
		list, _ := node.ProcessList()
		for _, pid := range list {
			if info, _ := node.ProcessInfo(pid); info.Name == name {
				node.Kill(pid)
			}
		}
	}
	time.Sleep(500 * time.Millisecond)
	client, err := net.Dial("tcp", fmt.Sprintf("localhost:%d", port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answers := bufio.NewReader(client)
	say := func(line string) {
		fmt.Println(">", line)
		fmt.Fprintln(client, line)
		answer, err := answers.ReadString('\n')
		if err != nil {
			answer = "the connection has ended\n"
		}
		fmt.Print("  ", answer)
	}
	for _, line := range []string{"make tea", "make soup", "make tea", "make tea", "dance"} {
		say(line)
	}
	time.Sleep(2 * time.Second)
	look()
	say("make smoke")
	say("make tea")
	kill("board")
	time.Sleep(500 * time.Millisecond)
	say("make soup")
	time.Sleep(time.Second)
	look()
	kill("listener")
	time.Sleep(1200 * time.Millisecond)
	look()
	node.Stop()
}
