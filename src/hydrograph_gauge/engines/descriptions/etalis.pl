% ETALIS behind lines: the query and static data in files, triples on standard input, rows on standard output.
%
%     swipl -q -g main etalis.pl -- ep_sparql.P QUERY STATIC
%
% An IRI is an atom to the engine, a number a number, any other literal the atom of its text.
:- module(behind_lines, [main/0]).
:- use_module(library(aggregate)).
:- use_module(library(apply)).
:- use_module(library(lists)).
:- use_module(library(readutil)).

:- dynamic known/2, lines/1.

main :-
    current_prolog_flag(argv, Given),
    append(_, [Engine, Query, Static], Given),
    own_output,
    load_files(user:Engine, [silent(true)]),
    catch(stand(Query, Static), Error, (format(string(Words), "error: ~w", [Error]), refuse(Words))),
    say("ready"),
    take_lines,
    halt.

% What the engine prints goes to standard error: standard output is for our lines.
own_output :-
    stream_property(Lines, alias(user_output)),
    set_stream(Lines, encoding(utf8)),
    set_stream(user_input, encoding(utf8)),
    assertz(lines(Lines)),
    set_output(user_error),
    set_stream(user_error, alias(user_output)).

say(Line) :-
    lines(Lines),
    format(Lines, "~w~n", [Line]),
    flush_output(Lines).

refuse(Words) :-
    split_string(Words, "\n\t", "\n\t ", Parts),
    atomic_list_concat(["refused\t" | Parts], Line),
    say(Line),
    halt(3).

stand(QueryFile, StaticFile) :-
    load_static(StaticFile),
    read_file_to_string(QueryFile, Whole, [encoding(utf8)]),
    split_string(Whole, "\n", "\r", [_Heading | Lines]),
    atomic_list_concat(Lines, ' ', Text),
    user:set_etalis_flag(store_fired_events, on),
    assertz(user:external_trigger(select_event/1)),
    (   catch(user:ep_sparql_parse(Text, Parsed), Error, parse_failed(Error))
    ->  true
    ;   refuse("syntax: the parser of ETALIS does not read the query")
    ),
    (   user:ep_sparql_compile(Parsed, Rules, select_event(_))
    ->  true
    ;   refuse("unsupported: ETALIS makes no SELECT rule of the query")
    ),
    user:compile_internal_event_rules(main, Rules).

parse_failed(Error) :-
    format(string(Words), "syntax: ~w", [Error]),
    refuse(Words).

% Static triples are facts that the conditions of a query can call.
load_static(File) :-
    read_file_to_string(File, Whole, [encoding(utf8)]),
    split_string(Whole, "\n", "\r", Lines),
    forall((member(Line, Lines), triple(Line, S, P, O)), assertz(user:rdf(S, P, O))).

triple(Line, S, P, O) :-
    string_concat(Most, " .", Line),
    sub_string(Most, A, 1, _, " "), !,
    B is A + 1,
    sub_string(Most, 0, A, _, First),
    sub_string(Most, B, _, 0, Rest),
    sub_string(Rest, C, 1, _, " "), !,
    D is C + 1,
    sub_string(Rest, 0, C, _, Second),
    sub_string(Rest, D, _, 0, Third),
    maplist(value, [First, Second, Third], [S, P, O]).

take_lines :-
    read_line_to_string(user_input, Line),
    (   Line == end_of_file
    ->  true
    ;   take(Line),
        take_lines
    ).

take("over") :- !,
    forall(retract(user:stored_event(event(select_event(Row), _))), say_row(Row)),
    retractall(user:stored_event(_)),
    say("finished").
take(Line) :-
    split_string(Line, "\t", "", [Time, First, Second, Third]),
    number_string(T, Time),
    maplist(value, [First, Second, Third], [S, P, O]),
    stamp(T, At),
    ignore(user:event(rdf(S, P, O), [At, At])).

% Its clock has seconds and a counter, which is the millisecond here: so events of one millisecond are simultaneous.
stamp(T, datime(Year, Month, Day, Hour, Minute, Second, Millisecond)) :-
    Seconds is T div 1000,
    Millisecond is T mod 1000,
    stamp_date_time(Seconds, date(Year, Month, Day, Hour, Minute, Exact, _, _, _), 'UTC'),
    Second is truncate(Exact).

value(Text, Value) :-
    (   string_concat("<", Rest, Text), string_concat(Iri, ">", Rest)
    ->  atom_string(Value, Iri)
    ;   string_concat("\"", _, Text)
    ->  aggregate_all(max(At), sub_string(Text, At, 1, _, "\""), Last),
        Length is Last - 1,
        sub_string(Text, 1, Length, _, Lexical),
        sub_string(Text, Last, _, 0, Rest),
        literal(Rest, Lexical, Value)
    ;   atom_string(Value, Text)
    ),
    (   known(Value, _) -> true ; assertz(known(Value, Text)) ).

literal(Rest, Lexical, Number) :-
    member(Type, ["integer", "decimal", "double", "float", "int", "long", "short", "byte"]),
    atomics_to_string(["\"^^<http://www.w3.org/2001/XMLSchema#", Type, ">"], Rest),
    catch(number_string(Number, Lexical), _, fail), !.
literal(_, Lexical, Atom) :-
    atom_string(Atom, Lexical).

% Terms that came in go out as they came; what the engine has computed is a number or a text.
say_row(Row) :-
    maplist(text, Row, Texts),
    atomic_list_concat(Texts, '\t', Cells),
    atomic_list_concat(['row\t', Cells], Line),
    say(Line).

text(Value, "") :- var(Value), !.
text(Value, Text) :- known(Value, Text), !.
text(Value, Text) :- integer(Value), !,
    format(string(Text), "\"~w\"^^<http://www.w3.org/2001/XMLSchema#integer>", [Value]).
text(Value, Text) :- number(Value), !,
    format(string(Text), "\"~w\"^^<http://www.w3.org/2001/XMLSchema#double>", [Value]).
text(Value, Text) :- format(string(Text), "\"~w\"", [Value]).
