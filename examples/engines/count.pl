#!/usr/bin/env perl
# An engine for the testbed in 30 lines of Perl: it counts the different triples of each tumbling window.
# Its one query is SELECT (COUNT(*) AS ?n) over all triples of a window of so many seconds, [RANGE PT5S].
use strict; use warnings; use JSON::PP;
$| = 1;
my ($query, $width, $close, %inside);
sub say_line { print encode_json({@_}), "\n" }
sub report {
    my $count = '"' . keys(%inside) . '"^^<http://www.w3.org/2001/XMLSchema#integer>';
    say_line(reply => "answer", query => $query, t => $close, rows => [{ n => $count }]);
    say_line(reply => "finished", query => $query);
    $close += $width;
    %inside = ();
}
my %do = (
    load => sub { say_line(reply => "loaded") },
    register => sub {
        ($query, $width) = ($_[0]{query}, $_[0]{text} =~ /COUNT.*RANGE PT([\d.]+)S/s);
        $width *= 1000 if $width;
        return say_line(reply => "registered", query => $query) if $width;
        say_line(reply => "refused", query => $query, why => "unsupported", words => "only COUNT, and RANGE in seconds");
    },
    unregister => sub { ($width, $close) = (); say_line(reply => "unregistered", query => $_[0]{query}) },
    send => sub {
        $close //= (int($_[0]{t} / $width) + 1) * $width;
        report() while $_[0]{t} >= $close;
        $inside{$_} = 1 for @{ $_[0]{triples} };
    },
    end => sub { report() if $close; say_line(reply => "ended") },
    stop => sub { exit },
);
while (my $line = <STDIN>) { my $command = decode_json($line); $do{ $command->{do} }->($command) }
