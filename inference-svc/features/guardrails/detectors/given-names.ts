/** Common given names of many languages. Names that are also common places, months or words, such as Paris, April and Mark, are left out. */
export const givenNames: ReadonlySet<string> = new Set(
  (
    "Aaron Abdel Abdul Abdullah Abena Abigail Abraham Ada Adaeze Adam Adele Adrian Adriana Adriano Agata Agnes Agnieszka Ahmed Aiko Ainhoa Aisha Akira Alan " +
    "Albert Aldo Alejandra Alejandro Aleksander Aleksandra Aleksei Alessandra Alessandro Alessia Alex Alexander Alexandra Alexei Alexis Alfonso Alfred " +
    "Alfredo Ali Alice Alicia Alina Alisa Alison Allison Alonso Alvaro Amal Amanda Amara Amaya Ambrose Amelia Amelie Amina Amir Amit Amrita Amy Amélie Ana " +
    "Anastasia Anatoly Anders Andre Andrea Andreas Andrei Andres Andrew Andrzej André Andrés Angela Angelika Angelo Angus Ania Anika Anil Anita Anjali Ann " +
    "Anna Annabel Anne Annelies Anneliese Annette Annika Anthony Antoine Anton Antonella Antonia Antonio Anya Ariana Arjun Armando Arnaud Arnold Arthur " +
    "Arturo Arun Asha Ashok Asif Astrid Ayesha Ayumi Babak Baptiste Barbara Bart Bartosz Beata Beatrice Beatriz Ben Benedetta Benedikt Benjamin Benoit " +
    "Benoît Bernadette Bernard Bernd Beth Bettina Bianca Bilal Birgit Bjorn Björn Blanca Bob Bogdan Bohdan Boris Brandon Brenda Brian Brigitte Britta " +
    "Bronwyn Bruno Caleb Callum Camille Carina Carl Carla Carlo Carlos Carlotta Carmen Carol Carolina Caroline Catalina Catarina Caterina Catherine Cecile " +
    "Cecilia Cedric Celia Celine Cesar Charles Charlie Chen Chiara Chidi Chika Chinedu Chiyo Chloe Chloé Chris Christian Christina Christine Christopher " +
    "Cian Ciara Claire Clara Clarissa Claude Claudia Claudio Clemens Clement Clément Colin Connor Conrad Consuelo Corinna Cornelia Craig Cristian Cristiano " +
    "Cristina Curtis Cynthia Cyril Cécile Cédric Céline César Dagmar Damian Damien Danica Daniel Daniela Daniil Danilo Danuta Daria Dario Darius Darren " +
    "David Davide Deborah Declan Deepak Delphine Denis Denise Dennis Derek Desmond Devon Diana Diane Didier Diego Dieter Dimitri Dirk Dmitri Dmytro Dolores " +
    "Domenico Dominic Dominik Dominique Donald Doris Dorothea Dorothy Douglas Duncan Dylan Ebony Edgar Edith Edmund Edna Eduard Eduardo Edward Edwin Efraín " +
    "Eileen Ekaterina Elaine Eleanor Elena Elias Elisabeth Eliza Elizabeth Elke Ella Ellen Elliot Elsa Elvira Emanuel Emil Emilia Emiliano Emilie Emilio " +
    "Emily Emine Emma Emmanuel Enrico Enrique Eric Erik Erin Ernesto Ernst Erwin Esme Esteban Estelle Esther Etienne Eugene Eugenia Eugenio Eva Evelyn Ewa " +
    "Fabian Fabien Fabio Fabrizio Farah Farid Fatima Fatma Federica Federico Felicia Felix Ferdinand Fernando Filip Finn Fiona Florian Francesca Francesco " +
    "Francine Francis Francisco Franck Francois Frank Franz François Françoise Fred Frederic Frederick Frederik Frida Friederike Friedrich Fritz Frédéric " +
    "Fumiko Gabriel Gabriela Gareth Gary Gavin Gemma Genevieve Geneviève Geoffrey George Gerald Gerard Gerhard Germaine Gianluca Giorgio Giovanna Giovanni " +
    "Gisela Giulia Giuseppe Glenn Gloria Gonzalo Gordon Grace Graciela Graham Greg Gregory Greta Grzegorz Guido Guillaume Guillermo Gunnar Gustav Gwen " +
    "Gérard Günther Habib Hannah Hans Harold Harriet Harry Haruki Haruto Hassan Heather Hector Hedwig Heidi Heike Heiko Heinz Helen Helena Helga Helmut " +
    "Hendrik Henri Henrik Henry Herbert Hermann Hilda Hiroko Hiroshi Holger Horst Howard Huda Hugo Hye Héctor Hélène Ian Ibrahim Ida Ignacio Igor Ilse Ilya " +
    "Imran Ines Inga Inge Ingrid Inés Irene Irina Irma Isaac Isabel Isabella Isabelle Ismail Ivan Ivana Ivanka Iván Iwona Jaan Jack Jacob Jacqueline " +
    "Jadwiga Jaime Jakob Jakub Jamal James Jamila Jan Jane Janet Janina Janusz Jared Jasmin Jason Javier Jean Jeff Jeffrey Jelena Jennifer Jens Jeremy " +
    "Jerome Jerzy Jesse Jessica Jill Jim Jimmy Jiří Joachim Joan Joanna Joanne Joao Joaquin Joaquín Jochen Jodie Joel Joelle Johan Johann Johanna Johannes " +
    "John Jolanta Jon Jonas Jonathan Joost Jordi Jorge Jose Josef Josefina Joseph Josephine Joshua Josip José Joyce João Juan Judith Juergen Julia Julian " +
    "Julie Julien Juliette Julio Justin Jutta Jérôme Jörg Jörn Jürgen Kaito Kamil Kamila Karen Karim Karin Karina Karl Karla Karol Karolina Kasia Katarina " +
    "Katarzyna Kate Katharina Katherine Kathleen Kathrin Kathy Katie Katja Katrin Kayla Kazuo Keiko Keith Kelly Ken Kenji Kenneth Kerstin Kevin Khaled " +
    "Kieran Kim Kinga Kirill Kirsten Klara Klaus Knut Konrad Konstantin Krishna Kristian Kristin Kristina Kristof Krystyna Krzysztof Kumar Kurt Kwame " +
    "Lakshmi Larissa Lars Lasse Laszlo Latisha Latoya Laura Lauren Laurence Laurent Laurie Lavinia Layla Lea Leanne Leila Lena Leo Leon Leonard Leonardo " +
    "Leonie Leopold Leroy Lewis Liam Lidia Liesbeth Lieselotte Lilian Liliana Lillian Lilly Linda Lionel Lisa Liz Ljubica Lorena Lorenzo Loretta Lotte " +
    "Louis Louise Luca Lucas Lucia Luciana Luciano Lucien Lucille Lucy Ludmila Ludwig Luigi Luis Luisa Luise Luiz Lukas Lukasz Luke Lutz Luís Lydia " +
    "Lyudmila László Maarten Mabel Maciej Maddalena Maddison Madeleine Magdalena Mahmoud Maja Makoto Malcolm Malgorzata Malik Manfred Manon Manuel Manuela " +
    "Marc Marcel Marcela Marcello Marcelo Marcin Marco Marcus Marek Margaret Margarita Margot Marguerite Maria Mariam Mariana Mariano Marie Marina Mario " +
    "Marion Marius Marjorie Markus Marlene Marta Marten Martha Martijn Martin Martina Marvin Mary María Masako Mateo Mateusz Mathias Mathieu Mathilde " +
    "Matilda Matteo Matthew Matthias Matthieu Maureen Maurice Mauricio Maurizio Maxim Maximilian Maya Małgorzata Megan Mehmet Mei Melanie Melinda Melissa " +
    "Meredith Michael Michaela Michal Michaël Michał Micheal Michel Michelle Miguel Mikael Mike Mikhail Mikko Milena Milica Milos Miloš Ming Miranda Miriam " +
    "Mirjam Mitchell Mohamed Mohammad Mohammed Mohan Moira Molly Mona Monica Monika Moritz Morten Muhammad Murat Muriel Mustafa Myriam Nabil Nadia Nadine " +
    "Nadja Nancy Naoko Naomi Narendra Nasser Natalia Natalie Natascha Natasha Nathalie Nathan Neha Neil Nestor Ngozi Nicholas Nicola Nicolai Nicolas Nicole " +
    "Nicoletta Nicolò Niels Nigel Nikhil Nikita Niklas Nikola Nikolai Nikolaos Nikos Nils Nina Nkechi Noah Noel Nora Norbert Norma Noémie Obi Octavio " +
    "Odette Oksana Olaf Oleg Oleksandr Olga Oliver Olivia Oliwia Omar Ondřej Oriol Orla Oscar Oskar Osman Oswald Ottavia Otto Pablo Paige Paloma Pamela " +
    "Paola Pascal Pascale Patrice Patricia Patrick Patrik Patrizia Paul Paula Pauline Paulo Pavel Pawel Paweł Pedro Penelope Percy Peter Petra Philip " +
    "Philipp Phillip Pia Pierluigi Pierre Piet Pilar Piotr Pooja Prakash Preeti Priscilla Priya Quentin Quinn Rachel Rachid Radek Rafael Rafał Rahim Rahul " +
    "Rainer Raj Rajesh Rakesh Ralph Ramesh Ramon Ramona Randall Rania Raphael Raquel Raul Ravi Raymond Raúl Rebecca Reinhard Renata Renate Rene René Reza " +
    "Rhonda Ricardo Riccardo Richard Rikke Rita Robert Roberta Roberto Robin Rodolfo Rodrigo Roger Rohan Rohit Roland Romain Romy Ronald Ronan Rosa " +
    "Rosalind Rosemary Roxana Ruben Rubén Rudolf Rui Ruslan Ruth Ryan Rüdiger Sabina Sabine Sachiko Sadie Safiya Sakura Salma Salvatore Samantha Sameer " +
    "Samir Samuel Sandeep Sandra Sandro Sanjay Sanna Saoirse Sara Sarah Sascha Satoshi Saul Scott Sean Sebastian Selma Serena Serge Sergei Sergey Sergio " +
    "Shabnam Shanice Shannon Sharon Shaun Sheila Shinji Shirin Shirley Shreya Siddharth Siegfried Sigrid Silke Silvia Silvio Simon Simona Simone Sinead " +
    "Siobhan Siobhán Slavica Sofia Soledad Solveig Sonja Sophia Sophie Soren Stacey Stanislav Stanislaw Stavros Stefan Stefania Stefanie Stefano Steffen " +
    "Stephan Stephanie Stephen Steve Steven Stuart Stéphane Stéphanie Sunita Suresh Susan Susana Susann Susanne Suzanne Sven Svetlana Sybille Sylvia Sylvie " +
    "Szymon Sébastien Søren Tadeusz Takeshi Tamara Tamás Tanja Tanya Tara Tariq Tatiana Tatjana Terence Teresa Terry Thea Theo Theodore Theresa Thiago " +
    "Thierry Thijs Thilo Thomas Thérèse Tiago Tiffany Tim Timo Timothy Tina Tiziana Tobias Todd Tom Tomas Tomasz Tomoko Tomáš Tony Torben Torsten Tracey " +
    "Tristan Tyler Tyrone Ulla Ulrich Ulrike Umar Urs Ursula Usha Uwe Valentin Valentina Valerie Valérie Vanessa Vasily Venkat Vera Veronica Veronika " +
    "Vicente Victor Vijay Vikram Viktor Viktoria Ville Vincent Vincenzo Virginie Vittoria Vivek Vivian Vladimir Volker Walter Wanda Wei Wendy Werner " +
    "Wilfried Wilhelm Willem William Wojciech Wolfgang Xavier Xiao Ximena Yael Yan Yannick Yara Yasmin Yasmine Yasuko Yevgeny Yolanda Yousef Yuki Yuliya " +
    "Yuri Yusuf Yves Yvonne Zachary Zahra Zainab Zeynep Zoe Zofia Zoë Zsófia Zuzana Zuzanna Álvaro Étienne Ólafur Łukasz"
  ).split(" "),
);
